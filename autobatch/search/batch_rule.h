#ifndef AUTOBATCH_SEARCH_BATCH_RULE_H_
#define AUTOBATCH_SEARCH_BATCH_RULE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace autobatch {

// Which batches may be an answer: from `least` to `greatest`, multiples of a number, or powers of
// two.
//
//   AB_ASSIGN_OR_RETURN(BatchRule rule, BatchRule::Create(1, 100, 8, false));
//   rule.Floor(63);  // 56
class BatchRule {
 public:
  // InvalidArgument: a size below 1, least > greatest, powers of two that are to be multiples of
  // something else, or no batch between least and greatest that obeys.
  static absl::StatusOr<BatchRule> Create(int64_t least, int64_t greatest, int64_t multiple_of,
                                          bool power_of_two);

  // The largest allowed batch up to `batch`; 0 when there is none.
  int64_t Floor(int64_t batch) const;
  // The smallest allowed batch from `batch` on; INT64_MAX when there is none.
  int64_t Ceil(int64_t batch) const;

  int64_t Least() const { return least_; }
  int64_t Greatest() const { return greatest_; }

 private:
  BatchRule(int64_t multiple_of, bool power_of_two)
      : multiple_of_(multiple_of), power_of_two_(power_of_two) {}

  int64_t RoundDown(int64_t batch) const;

  // Both are allowed themselves, once Create has found them.
  int64_t least_ = 1;
  int64_t greatest_ = INT64_MAX;
  int64_t multiple_of_;
  bool power_of_two_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_BATCH_RULE_H_
