#include "tests/vectors/profile_units_form.h"

#include <boost/describe.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/memory/profile_units.h"
#include "tests/vectors/estimator.h"

namespace autobatch {
namespace {

// The packages were run on images of this size.
constexpr int64_t kImageSize = 32;

struct ProfileUnitsVector {
  std::string algorithm;
  int64_t total_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;
  double fraction = 0;
  std::vector<int64_t> batch_sizes;
  std::vector<std::optional<int64_t>> reserved_after_step_bytes;
  std::optional<std::vector<std::optional<int64_t>>> reserved_after_predictions_bytes;
  std::optional<int64_t> fail_above;
  std::optional<int64_t> max_num_obj;
  std::vector<std::optional<double>> profiled_memory;
  std::optional<int64_t> expected_batch;
  std::optional<ExpectedError> expected_error;
  std::vector<std::string> expected_log;
  int64_t memory_reads_in_profile = 0;
};
BOOST_DESCRIBE_STRUCT(ProfileUnitsVector, (),
                      (algorithm, total_bytes, reserved_bytes, allocated_bytes, fraction,
                       batch_sizes, reserved_after_step_bytes, reserved_after_predictions_bytes,
                       fail_above, max_num_obj, profiled_memory, expected_batch, expected_error,
                       expected_log, memory_reads_in_profile))

// The packages' profilers over the vector's readings.
struct Profiler {
  const ProfileUnitsVector& vector;
  Estimator estimator;
  int64_t reads = 0;

  std::optional<double> Size(size_t i, const ProfileRequest& request) {
    const bool fails = vector.fail_above.has_value() && request.batch_sizes[i] > *vector.fail_above;
    // 8.3 reads on its way out of a step that raised, too.
    if (fails && estimator == Estimator::kUltralytics) ++reads;
    if (fails || !vector.reserved_after_step_bytes[i].has_value()) return std::nullopt;
    ++reads;
    const int64_t after_step = *vector.reserved_after_step_bytes[i];
    if (estimator == Estimator::kYolov5) return Yolov5ProfiledMemory(after_step);
    UltralyticsReading reading = {.after_step_bytes = after_step};
    if (request.max_num_obj > 0 && vector.reserved_after_predictions_bytes.has_value()) {
      ++reads;
      reading.after_predictions_bytes = (*vector.reserved_after_predictions_bytes)[i];
    }
    return UltralyticsProfiledMemory({&reading, 1});
  }

  Profile Run(const ProfileRequest& request) {
    Profile profile;
    for (size_t i = 0; i < request.batch_sizes.size(); ++i) {
      profile.memory.push_back(i < vector.reserved_after_step_bytes.size() ? Size(i, request)
                                                                           : std::nullopt);
    }
    return profile;
  }
};

// The JSON reader rounds a number of 17 digits to one of the two nearest doubles.
bool SameNumber(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= 2 * std::numeric_limits<double>::epsilon() * std::abs(*a);
}

void ExpectMemory(const std::vector<std::optional<double>>& expected,
                  const std::vector<std::optional<double>>& ours, Differences& differences) {
  bool same = expected.size() == ours.size();
  for (size_t i = 0; same && i < ours.size(); ++i) same = SameNumber(expected[i], ours[i]);
  if (!same) differences.Add("profiled_memory", ToJson(expected), ToJson(ours));
}

absl::StatusOr<Differences> Check(const boost::json::object& line) {
  AB_ASSIGN_OR_RETURN(const ProfileUnitsVector vector, ReadVector<ProfileUnitsVector>(line));
  AB_ASSIGN_OR_RETURN(const Estimator estimator, EstimatorOf(vector.algorithm));
  const size_t sizes = vector.batch_sizes.size();
  if (vector.reserved_after_step_bytes.size() != sizes ||
      (vector.reserved_after_predictions_bytes.has_value() &&
       vector.reserved_after_predictions_bytes->size() != sizes)) {
    return absl::InvalidArgumentError("the readings and batch_sizes differ in length");
  }
  if (estimator == Estimator::kUltralytics84) {
    return absl::InvalidArgumentError(
        "profile units of 8.4 need the detector's strides and classes, which this form lacks");
  }
  const SeedReadings readings = {.name = kOracleDevice,
                                 .total_bytes = vector.total_bytes,
                                 .reserved_bytes = vector.reserved_bytes,
                                 .allocated_bytes = vector.allocated_bytes};
  const EstimatorCall call = {.estimator = estimator,
                              .image_size = kImageSize,
                              .fraction = vector.fraction,
                              .max_num_obj = vector.max_num_obj.value_or(0)};
  Profiler profiler{vector, estimator};
  std::vector<int64_t> asked;
  std::vector<std::optional<double>> profiled;
  const SeedAnswer answer = CallEstimator(call, readings, [&](const ProfileRequest& request) {
    Profile profile = profiler.Run(request);
    asked = request.batch_sizes;
    profiled = profile.memory;
    return profile;
  });

  Differences differences;
  differences.Expect("batch_sizes", vector.batch_sizes, asked);
  ExpectMemory(vector.profiled_memory, profiled, differences);
  differences.Expect("memory_reads_in_profile", vector.memory_reads_in_profile, profiler.reads);
  ExpectBatch(vector.expected_batch, vector.expected_error, answer, differences);
  differences.Expect("expected_log", vector.expected_log, LogTexts(answer));
  return differences;
}

}  // namespace

Form ProfileUnitsForm() {
  return {
      [](const boost::json::object& line) { return line.contains("reserved_after_step_bytes"); },
      Check};
}

}  // namespace autobatch
