#include "autobatch/memory/ultralytics84.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/memory/polyfit.h"
#include "autobatch/memory/python_numbers.h"

namespace autobatch {
namespace {

struct Estimate {
  Line line;
  int64_t batch = 0;
};

absl::StatusOr<Estimate> Solve(const ProfileRequest& request, const Profile& profiled,
                               const UsablePoints& points, double room) {
  Estimate estimate;
  AB_ASSIGN_OR_RETURN(estimate.line, FitLine(points.batch, points.memory));
  AB_ASSIGN_OR_RETURN(double batch,
                      PythonInt((room - estimate.line.intercept) / estimate.line.slope));
  const double smallest = points.batch.front();
  // A failure below the smallest success is none of memory's.
  for (size_t i = 1; i < request.batch_sizes.size(); ++i) {
    const double size = static_cast<double>(request.batch_sizes[i]);
    if (profiled.memory[i].has_value() || size <= smallest) continue;
    if (batch >= size) batch = static_cast<double>(request.batch_sizes[i - 1]);
    break;
  }
  estimate.batch =
      static_cast<int64_t>(std::min(std::max(batch, smallest), static_cast<double>(kSeedMaxBatch)));
  return estimate;
}

// "CUDA:1"; torch prints the index of a device without one as None.
std::string DeviceLabel(absl::string_view device) {
  const absl::string_view type = DeviceType(device);
  return absl::StrCat(absl::AsciiStrToUpper(type), ":",
                      type.size() < device.size() ? device.substr(type.size() + 1) : "None");
}

SeedAnswer FallBack(SeedAnswer answer, const absl::Status& error, int64_t default_batch) {
  LogTo(answer, LogLevel::kWarning,
        absl::StrCat("error detected: ", error.message(), ",  using default batch-size ",
                     default_batch, "."));
  answer.batch = default_batch;
  return answer;
}

}  // namespace

SeedAnswer Ultralytics84AutoBatch(const Ultralytics84Options& options, const SeedReadings& readings,
                                  ProfileFunction profile) {
  SeedAnswer answer;
  LogTo(answer, LogLevel::kInfo,
        absl::StrCat("Computing optimal batch size for imgsz=", options.image_size, " at ",
                     PythonRepr(options.fraction * 100), "% GPU memory utilization."));
  const absl::string_view type = DeviceType(readings.device);
  if (type == "cpu" || type == "mps") {
    return AnswerDefault(std::move(answer), LogLevel::kWarning,
                         "intended for GPU devices, using default batch-size ",
                         options.default_batch);
  }
  if (type == "cuda" && readings.cudnn_benchmark) {
    return AnswerDefault(std::move(answer), LogLevel::kWarning,
                         "Requires torch.backends.cudnn.benchmark=False, using default batch-size ",
                         options.default_batch);
  }

  const std::string device = DeviceLabel(readings.device);
  const double total = Gib(readings.total_bytes);
  const double reserved = Gib(readings.reserved_bytes);
  const double available =
      readings.free_bytes.has_value() ? reserved + Gib(*readings.free_bytes) : total;
  LogTo(answer, LogLevel::kInfo,
        absl::StrCat(device, " (", readings.name, ") ", PythonFixed(total, 2), "G total, ",
                     PythonFixed(reserved, 2), "G reserved, ", PythonFixed(available, 2),
                     "G available"));

  ProfileRequest request = {.batch_sizes = UltralyticsBatchSizes(total),
                            .repetitions = 1,
                            .image_size = options.image_size,
                            .max_num_obj = options.max_num_obj,
                            .autocast = options.autocast};
  if (options.dataset_size > 0) {
    std::erase_if(request.batch_sizes, [&](int64_t size) { return size > options.dataset_size; });
  }
  const Profile profiled = RunProfiler(profile, request, answer);
  if (absl::Status status = CheckProfile(request, profiled); !status.ok()) {
    return FallBack(std::move(answer), status, options.default_batch);
  }
  const UsablePoints points = SelectUsable(request.batch_sizes, profiled.memory, total);
  if (points.batch.empty()) {
    answer.batch = absl::ResourceExhaustedError(
        absl::StrCat("no usable batch size found while profiling batch=[",
                     absl::StrJoin(request.batch_sizes, ", "),
                     "]: free GPU memory, reduce the image size, or set the batch"));
    return answer;
  }
  absl::StatusOr<Estimate> estimate =
      Solve(request, profiled, points, available * options.fraction);
  if (!estimate.ok()) {
    return FallBack(std::move(answer), estimate.status(), options.default_batch);
  }
  if (options.dataset_size > 0) {
    estimate->batch = std::min(estimate->batch, options.dataset_size);
  }
  const double share = estimate->line.At(static_cast<double>(estimate->batch)) / total;
  LogTo(answer, LogLevel::kInfo, UsingLine(estimate->batch, device, total, share));
  answer.batch = estimate->batch;
  return answer;
}

SeedAnswer Ultralytics84CheckTrainBatchSize(const Ultralytics84CheckOptions& options,
                                            const SeedReadings& readings, ProfileFunction profile) {
  return Ultralytics84AutoBatch({.image_size = options.image_size,
                                 .fraction = FractionOfBatchArgument(options.batch),
                                 .max_num_obj = options.max_num_obj,
                                 .dataset_size = options.dataset_size,
                                 .autocast = options.amp},
                                readings, profile);
}

}  // namespace autobatch
