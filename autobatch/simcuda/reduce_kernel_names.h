#ifndef AUTOBATCH_SIMCUDA_REDUCE_KERNEL_NAMES_H_
#define AUTOBATCH_SIMCUDA_REDUCE_KERNEL_NAMES_H_

namespace autobatch::simcuda {

// For tests: kernels as torch 2.11 names them; 2.6 has a template argument less.
inline constexpr char kSumKernel[] =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlZNS0_11sum_"
    "functorIlllEclERNS_14TensorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_";
inline constexpr char kMaximumKernel[] =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlNS0_13MaxNan"
    "FunctorIlEEEEjlLi4ELi4EEEEEvT1_";

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_REDUCE_KERNEL_NAMES_H_
