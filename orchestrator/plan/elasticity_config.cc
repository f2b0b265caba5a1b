#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/plan/elasticity.h"

namespace autobatch {
namespace {

// More than any of these can be is a mistake, and doubles are exact below it.
constexpr double kMostNumber = 9'007'199'254'740'992.0;  // 2^53

absl::Status Wrong(absl::string_view key, const boost::json::value& value,
                   absl::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat(
      "elasticity.", key, " ", boost::json::serialize(value).substr(0, 200), ": ", right));
}

// Reads one key after the other of a block; keeps the first error.
class Block {
 public:
  explicit Block(const boost::json::object& block) : block_(block) {}

  const absl::Status& status() const { return status_; }

  // The number under `key`, from `least` up; `fallback` where it is not given.
  double Number(absl::string_view key, double least, std::optional<double> fallback) {
    const boost::json::value* value = Find(key, fallback.has_value());
    if (value == nullptr) return fallback.value_or(0);
    if (!value->is_number()) return Fail(key, *value, "expected a number");
    const double number = value->to_number<double>();
    if (!(number >= least) || number > kMostNumber) {
      return Fail(key, *value, absl::StrCat("expected a number from ", least, " up"));
    }
    return number;
  }

  int64_t WholeNumber(absl::string_view key, int64_t least, int64_t fallback) {
    const double number = Number(key, static_cast<double>(least), static_cast<double>(fallback));
    if (std::floor(number) == number) return static_cast<int64_t>(number);
    Fail(key, number, "expected a whole number");
    return fallback;
  }

  // Numbers are true unless they are 0, as in the original's language.
  bool Switch(absl::string_view key, bool fallback) {
    const boost::json::value* value = Find(key, true);
    if (value == nullptr) return fallback;
    if (value->is_bool()) return value->get_bool();
    if (value->is_number()) return value->to_number<double>() != 0;
    Fail(key, *value, "expected true or false");
    return fallback;
  }

  // A number, or one in quotes.
  double Version(absl::string_view key, double fallback) {
    const boost::json::value* value = Find(key, true);
    if (value == nullptr) return fallback;
    double version = 0;
    const bool read = value->is_string()
                          ? absl::SimpleAtod(std::string(value->get_string()), &version)
                          : value->is_number();
    if (value->is_number()) version = value->to_number<double>();
    if (!read || (version != 0.1 && version != 0.2)) {
      return Fail(key, *value, "expected 0.1 or 0.2, the versions that there are");
    }
    return version;
  }

  std::vector<int64_t> Sizes(absl::string_view key) {
    const boost::json::value* value = Find(key, false);
    std::vector<int64_t> sizes;
    if (value == nullptr) return sizes;
    if (!value->is_array() || value->get_array().empty()) {
      Fail(key, *value, "expected a list of whole numbers, such as [2, 4, 6]");
      return sizes;
    }
    for (const boost::json::value& size : value->get_array()) {
      if (!size.is_int64() || size.get_int64() < 1 ||
          static_cast<double>(size.get_int64()) > kMostNumber) {
        Fail(
            key, *value,
            absl::StrCat("expected whole numbers from 1 up, found ", boost::json::serialize(size)));
        return sizes;
      }
      sizes.push_back(size.get_int64());
    }
    return sizes;
  }

 private:
  const boost::json::value* Find(absl::string_view key, bool may_be_absent) {
    const boost::json::value* value =
        block_.if_contains(boost::json::string_view(key.data(), key.size()));
    if (value == nullptr && !may_be_absent && status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("elasticity.", key, " is missing"));
    }
    return value;
  }

  double Fail(absl::string_view key, const boost::json::value& value, absl::string_view right) {
    if (status_.ok()) status_ = Wrong(key, value, right);
    return 0;
  }

  const boost::json::object& block_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<ElasticityConfig> ReadElasticityConfig(const boost::json::value& config) {
  if (!config.is_object()) return absl::InvalidArgumentError("expected an object with elasticity");
  const boost::json::value* block = config.get_object().if_contains("elasticity");
  if (block == nullptr) return absl::InvalidArgumentError("elasticity is missing");
  if (!block->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("elasticity: expected an object, found ",
                     std::string(boost::json::to_string(block->kind()))));
  }
  Block reader(block->get_object());
  ElasticityConfig read;
  if (!reader.Switch("enabled", false) && reader.status().ok()) {
    return absl::InvalidArgumentError(
        "elasticity.enabled: expected true, or there is no elasticity");
  }
  read.max_train_batch_size = reader.Number("max_train_batch_size", 1, std::nullopt);
  read.micro_batch_sizes = reader.Sizes("micro_batch_sizes");
  read.min_gpus = reader.Number("min_gpus", 1, read.min_gpus);
  read.max_gpus = reader.Number("max_gpus", 1, read.max_gpus);
  read.model_parallel_size = reader.WholeNumber("model_parallel_size", 1, read.model_parallel_size);
  read.num_gpus_per_node = reader.WholeNumber("num_gpus_per_node", 1, read.num_gpus_per_node);
  // Only a scheduler has use for it.
  reader.Number("min_time", 0, 0);
  read.version = reader.Version("version", read.version);
  read.prefer_larger_batch = reader.Switch("prefer_larger_batch", read.prefer_larger_batch);
  AB_RETURN_IF_ERROR(reader.status());
  if (read.min_gpus > read.max_gpus) {
    return absl::InvalidArgumentError(
        absl::StrCat("elasticity.min_gpus ", read.min_gpus, ": is above max_gpus ", read.max_gpus));
  }
  if (read.model_parallel_size > 1 && read.version != 0.2) {
    return absl::InvalidArgumentError(absl::StrCat("elasticity.model_parallel_size ",
                                                   read.model_parallel_size,
                                                   ": version 0.1 knows only 1; version 0.2 does"));
  }
  return read;
}

}  // namespace autobatch
