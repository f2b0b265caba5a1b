#ifndef AUTOBATCH_TYPES_REPORT_H_
#define AUTOBATCH_TYPES_REPORT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/device.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/workload.h"

namespace autobatch {

enum class MarginSource { kMeasured, kDeclared, kDefault };
BOOST_DESCRIBE_ENUM(MarginSource, kMeasured, kDeclared, kDefault)

// Named bytes held back from the workload.
struct Margin {
  // "context_growth", "communicator", "gradient_buckets", "evaluation", "fragmentation",
  // "headroom".
  std::string name;
  int64_t bytes = 0;
  MarginSource source = MarginSource::kDefault;
  // Why this many.
  std::string note;
};
BOOST_DESCRIBE_STRUCT(Margin, (), (name, bytes, source, note))

enum class Strategy { kConfirm, kYolov5, kUltralytics, kUltralytics84 };
BOOST_DESCRIBE_ENUM(Strategy, kConfirm, kYolov5, kUltralytics, kUltralytics84)

enum class ResultStatus {
  kConfirmed,  // `confirmed_batch` ran its full steps in a fresh process under the budget.
  kEstimated,  // A seed estimator's answer, never run.
  kPartial,    // Time or the user ended the search: `confirmed_batch` is the largest so far.
  kFailed,     // No batch: see `failure`.
};
BOOST_DESCRIBE_ENUM(ResultStatus, kConfirmed, kEstimated, kPartial, kFailed)

// What kept the answer from being larger.
enum class BatchBound {
  kMemory,
  kMaxBatch,
  kDataset,
  kTimeLimit,
  kThroughput,
  kFailure,
  kOtherDevice,  // Another device of the same trials (TrialScope::kNode).
  kNone,
};
BOOST_DESCRIBE_ENUM(BatchBound, kMemory, kMaxBatch, kDataset, kTimeLimit, kThroughput, kFailure,
                    kOtherDevice, kNone)

// Memory against batch: max(floor, intercept + slope * batch), give or take the band.
struct FitSummary {
  double floor_bytes = 0;
  double intercept_bytes = 0;
  double slope_bytes_per_sample = 0;
  double band_bytes = 0;
  // Points that lie on the line, of all that ran.
  int64_t points = 0;
};
BOOST_DESCRIBE_STRUCT(FitSummary, (),
                      (floor_bytes, intercept_bytes, slope_bytes_per_sample, band_bytes, points))

struct DeviceResult {
  Device device;
  Strategy strategy = Strategy::kConfirm;
  ResultStatus status = ResultStatus::kFailed;
  std::optional<int64_t> confirmed_batch;
  std::optional<int64_t> estimated_batch;
  BatchBound bound = BatchBound::kNone;
  // Bytes the workload may reserve = free in the confirming child - every margin.
  std::optional<int64_t> budget_bytes;
  std::vector<Margin> margins;
  // Greatest reserved bytes of the confirming trial, and what the budget left above it.
  std::optional<int64_t> peak_bytes;
  std::optional<int64_t> headroom_bytes;
  std::optional<double> step_ms;
  std::optional<double> samples_per_second;
  // Smallest batch that failed or was over budget.
  std::optional<int64_t> smallest_failing_batch;
  std::optional<FitSummary> fit;
  // Why there is no answer, or why it is partial.
  std::optional<Failure> failure;
  std::vector<std::string> warnings;
  // What a seed estimator logged, as the original would.
  std::vector<std::string> log;
  // Every trial in order.
  std::vector<Observation> observations;
  // UUID of the identical device whose search this one shared; empty when it searched itself.
  std::string shared_search_with;
  bool from_cache = false;
  // Samples in all steps of all trials.
  int64_t samples_stepped = 0;
  double elapsed_ms = 0;
};
BOOST_DESCRIBE_STRUCT(DeviceResult, (),
                      (device, strategy, status, confirmed_batch, estimated_batch, bound,
                       budget_bytes, margins, peak_bytes, headroom_bytes, step_ms,
                       samples_per_second, smallest_failing_batch, fit, failure, warnings, log,
                       observations, shared_search_with, from_cache, samples_stepped, elapsed_ms))

// Versions and places, for the banner.
struct HostFacts {
  // RFC 3339, local time with offset.
  std::string date;
  std::string host;
  std::string autobatch_version;
  std::optional<std::string> libtorch_version;
  std::optional<std::string> cuda_version;
  std::optional<std::string> driver_version;
  std::optional<std::string> nccl_version;
  // What the command of the trials ran on: "PyTorch 2.13.0+cu130 in /opt/venv/…/torch"; absent: not
  // known, or no command ran.
  std::optional<std::string> command_framework;
  // As it was; absent: unset.
  std::optional<std::string> cuda_visible_devices;
};
BOOST_DESCRIBE_STRUCT(HostFacts, (),
                      (date, host, autobatch_version, libtorch_version, cuda_version,
                       driver_version, nccl_version, command_framework, cuda_visible_devices))

// What one trial runs on: one device, or all devices of the node at once.
enum class TrialScope { kDevice, kNode };
BOOST_DESCRIBE_ENUM(TrialScope, kDevice, kNode)

inline constexpr char kNodeReportSchema[] = "autobatch.node_report.v1";

// Every device's result, and the node's minimum.
struct NodeReport {
  std::string schema = kNodeReportSchema;
  HostFacts host;
  WorkloadSpec workload;
  TrialScope scope = TrialScope::kDevice;
  std::vector<DeviceResult> devices;
  // Ranks of the job that was asked about; absent: one for each device of this node.
  std::optional<int64_t> world_size;
  // Micro-steps of each optimizer step; the global batch counts them all.
  int64_t accumulation = 1;
  // The least batch over all devices; absent when a device has none.
  std::optional<int64_t> minimum_batch;
  // UUID of the device that set it (or that has no batch).
  std::string minimum_device;
  // The minimum without that device; absent when it is the only one.
  std::optional<int64_t> minimum_without_it;
  bool simulated = false;
  std::vector<std::string> warnings;
  int64_t exit_code = 0;
};
BOOST_DESCRIBE_STRUCT(NodeReport, (),
                      (schema, host, workload, scope, devices, world_size, accumulation,
                       minimum_batch, minimum_device, minimum_without_it, simulated, warnings,
                       exit_code))

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_REPORT_H_
