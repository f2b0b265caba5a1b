#ifndef AUTOBATCH_SIMCUDA_FILL_KERNEL_H_
#define AUTOBATCH_SIMCUDA_FILL_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace autobatch::simcuda {

// The one kernel that is understood: the framework fills a contiguous tensor by
// vectorized_elementwise_kernel<FillFunctor<T>>(count, functor, addresses). It writes what it says
// and nothing else, so that bytes kept elsewhere live on: start-up code makes tensors of zeros
// between sending sizes and reading them. Returns sizeof(T) for a kernel of that mangled name, else
// 0.
size_t FillElementBytes(std::string_view kernel);

struct Fill {
  void* address = nullptr;
  uint64_t count = 0;
  const void* element = nullptr;
};

// What such a kernel's arguments say.
Fill ReadFillArguments(void** arguments);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_FILL_KERNEL_H_
