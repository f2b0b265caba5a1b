#ifndef AUTOBATCH_TYPES_TENSOR_SPEC_H_
#define AUTOBATCH_TYPES_TENSOR_SPEC_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// Reads the command line's form of one declared tensor, DTYPE[:SHAPE[:LOW..HIGH]], without the
// batch dimension:
//
//   float32:3x224x224     images
//   int64:128:0..50257    128 token numbers a sample, each in [0, 50257)
//   int64::0..1000        one class number a sample
//   float32               one number a sample
//
// A range is for int64 and int32; without one their values are 0 and 1. Floating-point inputs
// are drawn from the standard normal distribution, targets uniformly from [0, 1). InvalidArgument
// quotes the part that is wrong.
absl::StatusOr<TensorSpec> ParseTensorSpec(absl::string_view text);

// Whether a tensor can be made from it: a known dtype, sizes of at least 1, no more than 2^40
// elements a sample, a range that is not empty and fits the dtype. InvalidArgument otherwise.
absl::Status ValidateTensorSpec(const TensorSpec& spec);

// The names that TensorSpec::dtype may have.
std::span<const std::string> TensorDtypes();

bool IsFloatingPoint(const TensorSpec& spec);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_TENSOR_SPEC_H_
