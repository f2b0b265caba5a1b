#ifndef AUTOBATCH_SIMCUDA_REDUCE_KERNEL_H_
#define AUTOBATCH_SIMCUDA_REDUCE_KERNEL_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace autobatch::simcuda {

struct IntegerReduction {
  enum class Kind { kSum, kMaximum };

  Kind kind = Kind::kSum;
  const char* from = nullptr;
  char* to = nullptr;
  // Of int64_t.
  uint64_t count = 0;
};

// The framework adds up all integers of a contiguous tensor, or looks for the largest, by
// reduce_kernel<ReduceOp<int64_t, …>>(reduction): who receives objects makes room for them by their
// sizes. Nothing where `kernel`, a mangled name, is another one, or reduces by rows.
std::optional<IntegerReduction> ReadReduction(std::string_view kernel, void** arguments);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_REDUCE_KERNEL_H_
