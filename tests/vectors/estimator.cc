#include "tests/vectors/estimator.h"

#include "absl/strings/match.h"
#include "autobatch/memory/ultralytics.h"
#include "autobatch/memory/ultralytics84.h"
#include "autobatch/memory/yolov5.h"

namespace autobatch {

absl::StatusOr<Estimator> EstimatorOf(absl::string_view algorithm) {
  if (absl::StartsWith(algorithm, "yolov5-")) return Estimator::kYolov5;
  if (absl::StartsWith(algorithm, "ultralytics-8.3.")) return Estimator::kUltralytics;
  if (absl::StartsWith(algorithm, "ultralytics-8.4.")) return Estimator::kUltralytics84;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown algorithm '", algorithm,
                   "': expected yolov5-7.0, ultralytics-8.3.70 or ultralytics-8.4.190"));
}

SeedAnswer CallEstimator(const EstimatorCall& call, const SeedReadings& readings,
                         ProfileFunction profile) {
  const double batch_argument = call.batch_argument.value_or(-1);
  switch (call.estimator) {
    case Estimator::kYolov5:
      if (call.check) {
        return Yolov5CheckTrainBatchSize(call.image_size, /*amp=*/true, readings, profile);
      }
      return Yolov5AutoBatch({.image_size = call.image_size,
                              .fraction = call.fraction,
                              .default_batch = call.default_batch},
                             readings, profile);
    case Estimator::kUltralytics:
      if (call.check) {
        return UltralyticsCheckTrainBatchSize({.image_size = call.image_size,
                                               .batch = batch_argument,
                                               .max_num_obj = call.max_num_obj},
                                              readings, profile);
      }
      return UltralyticsAutoBatch({.image_size = call.image_size,
                                   .fraction = call.fraction,
                                   .default_batch = call.default_batch,
                                   .max_num_obj = call.max_num_obj},
                                  readings, profile);
    case Estimator::kUltralytics84:
      if (call.check) {
        return Ultralytics84CheckTrainBatchSize({.image_size = call.image_size,
                                                 .batch = batch_argument,
                                                 .max_num_obj = call.max_num_obj,
                                                 .dataset_size = call.dataset_size},
                                                readings, profile);
      }
      return Ultralytics84AutoBatch({.image_size = call.image_size,
                                     .fraction = call.fraction,
                                     .default_batch = call.default_batch,
                                     .max_num_obj = call.max_num_obj,
                                     .dataset_size = call.dataset_size},
                                    readings, profile);
  }
  return {};
}

void ExpectBatch(const std::optional<int64_t>& expected,
                 const std::optional<ExpectedError>& expected_error, const SeedAnswer& answer,
                 Differences& differences) {
  const std::string ours =
      answer.batch.ok() ? absl::StrCat(*answer.batch) : answer.batch.status().ToString();
  if (!expected.has_value()) {
    if (!answer.batch.ok()) return;
    differences.Add("expected_error",
                    expected_error.has_value() ? ToJson(*expected_error) : "an error", ours);
  } else if (!answer.batch.ok() || *answer.batch != *expected) {
    differences.Add("expected_batch", absl::StrCat(*expected), ours);
  }
}

std::vector<std::string> LogTexts(const SeedAnswer& answer) {
  std::vector<std::string> texts;
  texts.reserve(answer.log.size());
  for (const LogLine& line : answer.log) texts.push_back(line.text);
  return texts;
}

std::vector<std::string> LogLevels(const SeedAnswer& answer) {
  std::vector<std::string> levels;
  levels.reserve(answer.log.size());
  for (const LogLine& line : answer.log) {
    levels.push_back(line.level == LogLevel::kWarning ? "WARNING" : "INFO");
  }
  return levels;
}

}  // namespace autobatch
