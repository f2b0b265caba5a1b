#ifndef AUTOBATCH_SIMCUDA_FAT_BINARY_H_
#define AUTOBATCH_SIMCUDA_FAT_BINARY_H_

#include <optional>
#include <vector>

namespace autobatch::simcuda {

// What the compiler registers for a translation unit: the same kernels for several architectures.
struct FatBinary {
  // Machine code and PTX by architecture: 89 is sm_89.
  std::vector<int> machine_code;
  std::vector<int> ptx;
  // False where the layout is none that we know: nothing is known about the architectures then.
  bool known = false;
};

// `wrapper`: what __cudaRegisterFatBinary is given. Reads headers only.
FatBinary ReadFatBinary(const void* wrapper);

struct PickedCode {
  // Of the machine code that runs; of PTX compiled for the device, the device's.
  int binary = 0;
  int ptx = 0;
};

// What the driver would run on a device of that architecture: machine code of the same major
// version and at most its minor one, else PTX that is not newer. Absent where it has nothing.
std::optional<PickedCode> PickCode(const FatBinary& binary, int compute_capability);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_FAT_BINARY_H_
