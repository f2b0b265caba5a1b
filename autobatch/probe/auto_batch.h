#ifndef AUTOBATCH_PROBE_AUTO_BATCH_H_
#define AUTOBATCH_PROBE_AUTO_BATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/memory/seed.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// The model of the originals' first argument: a workload on a device, and how its trials are run.
struct AutoBatchModel {
  WorkloadSpec workload;
  // "cpu" is answered with the default batch, as the originals do; see `DeviceAsAccelerator`.
  Device device;
  std::function<std::unique_ptr<TrialRunner>(const WorkloadSpec&)> make_runner;
  const Clock& clock = Clock::Real();
  SteadyTime deadline = SteadyTime::max();
  absl::Duration trial_timeout = absl::Minutes(10);
  // torch.backends.cudnn.benchmark: with it the originals refuse to profile.
  bool cudnn_benchmark = false;
  // Told of every trial that ended. May be empty.
  std::function<void(const Observation&)> on_trial;
};

// What an estimator answered, and the trials that it was given.
struct AutoBatchAnswer {
  // An error where the original raises (see SeedAnswer).
  absl::StatusOr<int64_t> batch;
  // As the original logs it: the memory line, a row a size, the closing line.
  std::vector<LogLine> log;
  std::vector<Observation> observations;
};

// The originals' `autobatch(model, imgsz=640, fraction=0.6, batch_size=16, max_num_obj=1)` over
// real trials of `model`. `estimator` says which one; kConfirm is not one of them
// (InvalidArgument).
struct AutoBatchArguments {
  Strategy estimator = Strategy::kUltralytics;
  int64_t imgsz = 640;
  // Absent: 0.8 for yolov5, else 0.6.
  std::optional<double> fraction;
  int64_t batch_size = kSeedDefaultBatch;
  int64_t max_num_obj = 1;
  // 8.4 only; 0: unknown.
  int64_t dataset_size = 0;
};
AutoBatchAnswer AutoBatch(const AutoBatchModel& model, const AutoBatchArguments& arguments);

// The originals' `check_train_batch_size(model, imgsz=640, amp=True, batch=-1, max_num_obj=1)`.
struct CheckTrainBatchSizeArguments {
  Strategy estimator = Strategy::kUltralytics;
  int64_t imgsz = 640;
  bool amp = true;
  // Between 0 and 1, the fraction (not YOLOv5).
  double batch = -1;
  int64_t max_num_obj = 1;
  int64_t dataset_size = 0;
};
AutoBatchAnswer CheckTrainBatchSize(const AutoBatchModel& model,
                                    const CheckTrainBatchSizeArguments& arguments);

// The CPU with its hard memory budget, under an address that the estimators profile like a GPU's.
// The originals know no such device and answer "cpu" with their default.
Device DeviceAsAccelerator(Device device);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_AUTO_BATCH_H_
