#include "tests/vectors/autobatch_form.h"

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/vectors/estimator.h"

namespace autobatch {
namespace {

struct AutobatchVector {
  std::string algorithm;
  std::string entry;
  std::optional<double> batch_arg;
  int64_t imgsz = 0;
  int64_t total_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;
  double fraction = 0;
  std::vector<int64_t> batch_sizes;
  std::optional<std::vector<std::optional<double>>> memory_gib;
  std::optional<std::string> profile_error;
  int64_t default_batch = 0;
  bool cudnn_benchmark = false;
  std::string device;
  std::optional<std::string> cuda_visible_devices;
  bool profile_called = false;
  std::optional<int64_t> profile_n;
  std::optional<int64_t> expected_batch;
  std::optional<ExpectedError> expected_error;
  std::vector<std::string> expected_log;
  std::vector<std::string> expected_log_levels;
  bool batch_fragile = false;
  bool log_fragile = false;
};
BOOST_DESCRIBE_STRUCT(AutobatchVector, (),
                      (algorithm, entry, batch_arg, imgsz, total_bytes, reserved_bytes,
                       allocated_bytes, fraction, batch_sizes, memory_gib, profile_error,
                       default_batch, cudnn_benchmark, device, cuda_visible_devices, profile_called,
                       profile_n, expected_batch, expected_error, expected_log, expected_log_levels,
                       batch_fragile, log_fragile))

// What only 8.4 reads.
struct Ultralytics84Fields {
  std::optional<int64_t> mem_get_info_free_bytes;
  int64_t dataset_size = 0;
};
BOOST_DESCRIBE_STRUCT(Ultralytics84Fields, (), (mem_get_info_free_bytes, dataset_size))

absl::Status CheckConsistent(const AutobatchVector& vector) {
  if (vector.entry != "autobatch" && vector.entry != "check_train_batch_size") {
    return absl::InvalidArgumentError(absl::StrCat("unknown entry '", vector.entry, "'"));
  }
  if (vector.memory_gib.has_value() && vector.memory_gib->size() != vector.batch_sizes.size()) {
    return absl::InvalidArgumentError("memory_gib and batch_sizes differ in length");
  }
  if (!vector.memory_gib.has_value() && !vector.profile_error.has_value() &&
      vector.profile_called) {
    return absl::InvalidArgumentError("neither memory_gib nor profile_error is given");
  }
  return absl::OkStatus();
}

absl::StatusOr<Differences> Check(const boost::json::object& line) {
  AB_ASSIGN_OR_RETURN(const AutobatchVector vector, ReadVector<AutobatchVector>(line));
  AB_RETURN_IF_ERROR(CheckConsistent(vector));
  EstimatorCall call = {.check = vector.entry == "check_train_batch_size",
                        .image_size = vector.imgsz,
                        .fraction = vector.fraction,
                        .batch_argument = vector.batch_arg,
                        .default_batch = vector.default_batch};
  AB_ASSIGN_OR_RETURN(call.estimator, EstimatorOf(vector.algorithm));
  SeedReadings readings = {.device = vector.device,
                           .name = kOracleDevice,
                           .total_bytes = vector.total_bytes,
                           .reserved_bytes = vector.reserved_bytes,
                           .allocated_bytes = vector.allocated_bytes,
                           .cudnn_benchmark = vector.cudnn_benchmark,
                           .cuda_visible_devices = vector.cuda_visible_devices};
  if (call.estimator == Estimator::kUltralytics84) {
    AB_ASSIGN_OR_RETURN(const Ultralytics84Fields fields, ReadVector<Ultralytics84Fields>(line));
    readings.free_bytes = fields.mem_get_info_free_bytes;
    call.dataset_size = fields.dataset_size;
  }

  std::optional<ProfileRequest> asked;
  const SeedAnswer answer = CallEstimator(call, readings, [&](const ProfileRequest& request) {
    asked = request;
    Profile profile;
    if (vector.profile_error.has_value()) {
      profile.status = absl::UnknownError(*vector.profile_error);
    } else if (vector.memory_gib.has_value()) {
      profile.memory = *vector.memory_gib;
    }
    return profile;
  });

  Differences differences;
  differences.Expect("profile_called", vector.profile_called, asked.has_value());
  if (vector.profile_called && asked.has_value()) {
    differences.Expect("profile_n", vector.profile_n, std::optional(asked->repetitions));
    differences.Expect("batch_sizes", vector.batch_sizes, asked->batch_sizes);
  }
  if (!vector.batch_fragile) {
    ExpectBatch(vector.expected_batch, vector.expected_error, answer, differences);
  }
  if (!vector.batch_fragile && !vector.log_fragile) {
    differences.Expect("expected_log_levels", vector.expected_log_levels, LogLevels(answer));
    differences.Expect("expected_log", vector.expected_log, LogTexts(answer));
  }
  return differences;
}

}  // namespace

Form AutobatchForm() {
  return {[](const boost::json::object& line) { return line.contains("memory_gib"); }, Check};
}

}  // namespace autobatch
