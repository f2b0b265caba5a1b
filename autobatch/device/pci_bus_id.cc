#include "autobatch/device/pci_bus_id.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace autobatch {

std::string CudaPciBusId(absl::string_view id) {
  const size_t domain = id.find(':');
  if (domain == 8 && absl::StartsWith(id, "0000")) id.remove_prefix(4);
  return absl::AsciiStrToUpper(id);
}

}  // namespace autobatch
