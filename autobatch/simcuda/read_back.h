#ifndef AUTOBATCH_SIMCUDA_READ_BACK_H_
#define AUTOBATCH_SIMCUDA_READ_BACK_H_

#include <cstddef>
#include <string_view>

namespace autobatch::simcuda {

// A program that reads one number back from the device uses it as a size (how many elements were
// not zero, or unique) or to decide (are all of them so?). No kernel has counted or compared
// anything, so rules on the name of the last kernel say what it is: AUTOBATCH_SIM_READ_BACK=
// "substring=value;…", such as NonZeroOp=100; the first that fits counts. After the user's come our
// own, for data as programs expect it: what is true of all elements is true (all(), equal()), and
// those of a tensor that is not empty have one value at least (unique()). Anything else is zero:
// any() finds nothing. AUTOBATCH_SIM_TRACE=1 names the kernels. Returns whether a rule filled `to`.
bool ReadBack(std::string_view kernel, void* to, size_t bytes);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_READ_BACK_H_
