#ifndef AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_
#define AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "autobatch/simcuda/device.h"

namespace autobatch::simcuda {

// Done to the bytes that a device keeps.
using Effect = std::function<void(Device& device)>;

// What a kernel computes of kept bytes (kept_bytes.h); null where it is none of these. Ranks that
// send each other objects look for the largest size, add sizes up and join what they send: integers
// are compared, added and reduced (reduce_kernel.h), contiguous tensors joined (cat_kernel.h).
// `name` is mangled, `arguments` null where they are not known and needed no more after the call,
// `block_rows` the grid's.
Effect KnownEffect(const std::string& name, void** arguments, uint32_t block_rows);

// What another kernel, that is no fill (fill_kernel.h) either, leaves of them. The framework's
// elementwise kernels change nothing but their result, which reads as zero then. Of all other
// kernels nobody knows what they write: nothing stays known.
void ForgetWritten(const std::string& name, void** arguments, Device& device);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_KNOWN_KERNELS_H_
