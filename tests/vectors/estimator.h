#ifndef AUTOBATCH_TESTS_VECTORS_ESTIMATOR_H_
#define AUTOBATCH_TESTS_VECTORS_ESTIMATOR_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/memory/seed.h"
#include "tests/vectors/form.h"

namespace autobatch {

// What the package raised.
struct ExpectedError {
  std::string type;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(ExpectedError, (), (type, message))

enum class Estimator { kYolov5, kUltralytics, kUltralytics84 };

// By the vector's `algorithm`: "yolov5-7.0", "ultralytics-8.3.70", "ultralytics-8.4.190".
absl::StatusOr<Estimator> EstimatorOf(absl::string_view algorithm);

// Arguments of `autobatch`, or of `check_train_batch_size` when `check` is set.
struct EstimatorCall {
  Estimator estimator = Estimator::kYolov5;
  bool check = false;
  int64_t image_size = 640;
  double fraction = 0;
  // `check_train_batch_size` only.
  std::optional<double> batch_argument;
  int64_t default_batch = kSeedDefaultBatch;
  int64_t max_num_obj = 1;
  int64_t dataset_size = 0;
};
SeedAnswer CallEstimator(const EstimatorCall& call, const SeedReadings& readings,
                         ProfileFunction profile);

// The name of the device in all vectors.
inline constexpr char kOracleDevice[] = "Oracle GPU";

// Compares a batch, or the fact of an error, whose text is not asked for.
void ExpectBatch(const std::optional<int64_t>& expected,
                 const std::optional<ExpectedError>& expected_error, const SeedAnswer& answer,
                 Differences& differences);

std::vector<std::string> LogTexts(const SeedAnswer& answer);
std::vector<std::string> LogLevels(const SeedAnswer& answer);

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_ESTIMATOR_H_
