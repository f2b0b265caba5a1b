#ifndef AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_
#define AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_

#include <string>

#include "autobatch/simcuda/device.h"

namespace autobatch::simcuda {

// What a kernel that is no fill (fill_kernel.h) does to the bytes that are kept (kept_bytes.h). The
// framework's elementwise kernels change nothing but their result, which reads as zero then, except
// that integers are compared: ranks that gather each other's objects look for the largest. Of all
// other kernels nobody knows what they write: nothing stays known. `name` is mangled; `arguments`
// null where they are not known.
void RunOnKeptBytes(const std::string& name, void** arguments, Device& device);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_
