#ifndef AUTOBATCH_SIMCUDA_READ_BACK_H_
#define AUTOBATCH_SIMCUDA_READ_BACK_H_

#include <cstddef>
#include <string_view>

namespace autobatch::simcuda {

// A program that reads one number back from the device uses it as a size: how many elements were
// not zero, or unique. No kernel has counted anything, so rules on the name of the last kernel say
// what the count is: AUTOBATCH_SIM_READ_BACK="substring=value;…", such as NonZeroOp=100; the first
// that fits counts. Without one it is zero. AUTOBATCH_SIM_TRACE=1 names the kernels. Returns
// whether a rule filled `to`.
bool ReadBack(std::string_view kernel, void* to, size_t bytes);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_READ_BACK_H_
