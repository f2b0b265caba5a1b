#ifndef AUTOBATCH_DEVICE_PCI_BUS_ID_H_
#define AUTOBATCH_DEVICE_PCI_BUS_ID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// CUDA's spelling of a PCI address, "0000:3B:00.0": four digits of domain at least, upper case.
// NVML writes eight ("00000000:3B:00.0") and tools either case; alike devices must compare equal.
// Sorts like the bus, as long as no domain is above FFFF.
std::string CudaPciBusId(absl::string_view id);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_PCI_BUS_ID_H_
