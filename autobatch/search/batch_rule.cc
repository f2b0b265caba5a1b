#include "autobatch/search/batch_rule.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

absl::StatusOr<BatchRule> BatchRule::Create(int64_t least, int64_t greatest, int64_t multiple_of,
                                            bool power_of_two) {
  if (least < 1)
    return absl::InvalidArgumentError(absl::StrCat("min batch ", least, ": at least 1"));
  if (greatest < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("max batch ", greatest, " is below the least batch ", least));
  }
  // Sizes beyond this would overflow when doubled or multiplied by steps, and no device runs them.
  if (greatest > int64_t{1} << 40) {
    return absl::InvalidArgumentError(absl::StrCat("max batch ", greatest, ": at most 2^40"));
  }
  if (multiple_of < 1) {
    return absl::InvalidArgumentError(absl::StrCat("multiple of ", multiple_of, ": at least 1"));
  }
  if (power_of_two && !std::has_single_bit(static_cast<uint64_t>(multiple_of))) {
    return absl::InvalidArgumentError(
        absl::StrCat("no power of two is a multiple of ", multiple_of));
  }
  BatchRule rule(multiple_of, power_of_two);
  const int64_t last = rule.RoundDown(greatest);
  const int64_t first = rule.Ceil(least);
  if (last < least || first > greatest) {
    return absl::InvalidArgumentError(
        absl::StrCat("no batch from ", least, " to ", greatest, " is a ",
                     power_of_two ? "power of two" : "multiple",
                     power_of_two && multiple_of == 1
                         ? ""
                         : absl::StrCat(power_of_two ? " from " : " of ", multiple_of)));
  }
  rule.least_ = first;
  rule.greatest_ = last;
  return rule;
}

int64_t BatchRule::RoundDown(int64_t batch) const {
  if (batch < multiple_of_) return 0;
  if (power_of_two_) return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(batch)));
  return batch - batch % multiple_of_;
}

int64_t BatchRule::Floor(int64_t batch) const {
  const int64_t rounded = RoundDown(std::min(batch, greatest_));
  return rounded < least_ ? 0 : rounded;
}

int64_t BatchRule::Ceil(int64_t batch) const {
  if (batch <= least_ && least_ > 1) return least_;
  if (batch > greatest_) return INT64_MAX;
  const int64_t down = RoundDown(std::max<int64_t>(batch, 1));
  if (down >= batch && down > 0) return down;
  const int64_t up = down == 0 ? multiple_of_ : power_of_two_ ? 2 * down : down + multiple_of_;
  return up > greatest_ ? INT64_MAX : up;
}

}  // namespace autobatch
