#include "autobatch/memory/yolov5.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/memory/polyfit.h"
#include "autobatch/memory/python_numbers.h"

namespace autobatch {
namespace {

constexpr int64_t kRepetitions = 3;

struct Estimate {
  Line line;
  // An integer of any size.
  double batch = 0;
};

absl::StatusOr<Estimate> Solve(const std::vector<int64_t>& sizes,
                               const std::vector<std::optional<double>>& memory, double room) {
  std::vector<double> ran;
  for (const std::optional<double>& value : memory) {
    if (value.has_value()) ran.push_back(*value);
  }
  // The first sizes, whichever ran: the package's mistake, kept.
  const std::vector<double> x(sizes.begin(), sizes.begin() + ran.size());
  Estimate estimate;
  AB_ASSIGN_OR_RETURN(estimate.line, FitLine(x, ran));
  AB_ASSIGN_OR_RETURN(estimate.batch,
                      PythonInt((room - estimate.line.intercept) / estimate.line.slope));
  estimate.batch = BelowFirstFailure(estimate.batch, sizes, memory);
  return estimate;
}

}  // namespace

SeedAnswer Yolov5AutoBatch(const Yolov5Options& options, const SeedReadings& readings,
                           ProfileFunction profile) {
  SeedAnswer answer;
  LogTo(answer, LogLevel::kInfo,
        absl::StrCat("Computing optimal batch size for --imgsz ", options.image_size));
  if (DeviceType(readings.device) == "cpu") {
    return AnswerDefault(std::move(answer), LogLevel::kInfo,
                         "CUDA not detected, using default CPU batch-size ", options.default_batch);
  }
  if (readings.cudnn_benchmark) {
    return AnswerDefault(
        std::move(answer), LogLevel::kInfo,
        " ⚠️ Requires torch.backends.cudnn.benchmark=False, using default batch-size ",
        options.default_batch);
  }

  const std::string device = absl::AsciiStrToUpper(readings.device);
  const double total = Gib(readings.total_bytes);
  const double reserved = Gib(readings.reserved_bytes);
  const double allocated = Gib(readings.allocated_bytes);
  LogTo(answer, LogLevel::kInfo, MemoryLine(device, readings));

  const ProfileRequest request = {.batch_sizes = {1, 2, 4, 8, 16},
                                  .repetitions = kRepetitions,
                                  .image_size = options.image_size,
                                  .autocast = options.autocast};
  const Profile profiled = RunProfiler(profile, request, answer);
  if (!profiled.status.ok()) {
    LogTo(answer, LogLevel::kWarning, profiled.status.message());
    answer.batch = absl::AbortedError(absl::StrCat(
        "profiling failed, and YOLOv5 has no batch without it: ", profiled.status.message()));
    return answer;
  }
  if (absl::Status status = CheckProfile(request, profiled); !status.ok()) {
    answer.batch = status;
    return answer;
  }

  absl::StatusOr<Estimate> estimate =
      Solve(request.batch_sizes, profiled.memory, FreeGib(readings) * options.fraction);
  if (!estimate.ok()) {
    answer.batch = estimate.status();
    return answer;
  }
  int64_t batch = options.default_batch;
  if (estimate->batch < 1 || estimate->batch > kSeedMaxBatch) {
    LogTo(answer, LogLevel::kWarning,
          "WARNING ⚠️ CUDA anomaly detected, recommend restart environment and retry command.");
  } else {
    batch = static_cast<int64_t>(estimate->batch);
  }
  const double share =
      (estimate->line.At(static_cast<double>(batch)) + reserved + allocated) / total;
  LogTo(answer, LogLevel::kInfo, UsingLine(batch, device, total, share));
  answer.batch = batch;
  return answer;
}

SeedAnswer Yolov5CheckTrainBatchSize(int64_t image_size, bool amp, const SeedReadings& readings,
                                     ProfileFunction profile) {
  return Yolov5AutoBatch({.image_size = image_size, .autocast = amp}, readings, profile);
}

}  // namespace autobatch
