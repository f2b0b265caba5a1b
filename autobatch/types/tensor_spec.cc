#include "autobatch/types/tensor_spec.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr absl::string_view kForm = "DTYPE[:SHAPE[:LOW..HIGH]], as in float32:3x224x224";

bool HasRange(const TensorSpec& spec) { return spec.dtype == "int64" || spec.dtype == "int32"; }

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text) {
  std::vector<int64_t> shape;
  if (text.empty()) return shape;
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size)) {
      return absl::InvalidArgumentError(absl::StrCat("'", part, "' is not a size in the shape '",
                                                     text,
                                                     "': sizes joined by x, as in 3x224x224"));
    }
    shape.push_back(size);
  }
  return shape;
}

absl::StatusOr<std::pair<int64_t, int64_t>> ParseRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
  std::pair<int64_t, int64_t> range;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.first) ||
      !absl::SimpleAtoi(ends[1], &range.second)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a range: LOW..HIGH, as in 0..1000 for 0 to 999"));
  }
  return range;
}

absl::StatusOr<TensorSpec> ParseParts(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("more than three parts; the form is ", kForm));
  }
  TensorSpec spec;
  spec.dtype = std::string(parts[0]);
  if (spec.dtype.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no dtype; the form is ", kForm));
  }
  if (parts.size() > 1) {
    AB_ASSIGN_OR_RETURN(spec.shape, ParseShape(parts[1]));
  }
  if (parts.size() > 2) {
    AB_RETURN_IF_ERROR(ValidateTensorSpec(spec));  // A wrong dtype before a range that it lacks.
    if (!HasRange(spec)) {
      return absl::InvalidArgumentError(absl::StrCat("a range is for int64 and int32; ", spec.dtype,
                                                     " has none: leave ':", parts[2], "' out"));
    }
    AB_ASSIGN_OR_RETURN(std::tie(spec.low, spec.high), ParseRange(parts[2]));
  }
  AB_RETURN_IF_ERROR(ValidateTensorSpec(spec));
  return spec;
}

}  // namespace

absl::StatusOr<TensorSpec> ParseTensorSpec(absl::string_view text) {
  absl::StatusOr<TensorSpec> spec = ParseParts(text);
  if (spec.ok()) return spec;
  return absl::InvalidArgumentError(absl::StrCat("tensor '", text, "': ", spec.status().message()));
}

absl::Status ValidateTensorSpec(const TensorSpec& spec) {
  const std::span<const std::string> dtypes = TensorDtypes();
  if (std::find(dtypes.begin(), dtypes.end(), spec.dtype) == dtypes.end()) {
    return UnknownName("dtype", spec.dtype, dtypes);
  }
  int64_t elements = 1;
  for (int64_t size : spec.shape) {
    if (size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("size ", size, " in the shape ",
                                                     absl::StrJoin(spec.shape, "x"),
                                                     ": every size must be at least 1"));
    }
    if (size > kMaxElements / elements) {
      return absl::InvalidArgumentError(absl::StrCat("the shape ", absl::StrJoin(spec.shape, "x"),
                                                     " has more than 2^40 elements a sample"));
    }
    elements *= size;
  }
  if (!HasRange(spec)) return absl::OkStatus();
  if (spec.low >= spec.high) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range ", spec.low, "..", spec.high, " is empty: LOW must be below HIGH"));
  }
  if (spec.dtype == "int32" && (spec.low < std::numeric_limits<int32_t>::min() ||
                                spec.high - 1 > std::numeric_limits<int32_t>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range ", spec.low, "..", spec.high, " does not fit int32: use int64"));
  }
  return absl::OkStatus();
}

std::span<const std::string> TensorDtypes() {
  static const auto& dtypes =
      *new std::vector<std::string>{"float32", "float16", "bfloat16", "int64", "int32", "bool"};
  return dtypes;
}

bool IsFloatingPoint(const TensorSpec& spec) {
  return spec.dtype == "float32" || spec.dtype == "float16" || spec.dtype == "bfloat16";
}

}  // namespace autobatch
