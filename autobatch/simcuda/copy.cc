#include "autobatch/simcuda/copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/read_back.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {

cudaError_t Copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  const Node& node = Node::Get();
  Device* const target = node.OwnerOf(to);
  Device* const source = node.OwnerOf(from);
  if (target == nullptr && source == nullptr) {
    std::memcpy(to, from, bytes);
  } else if (source == nullptr) {
    target->kept().Write(target->OffsetOf(to), from, bytes);
  } else if (target == nullptr) {
    WaitForDevice();
    if (!ReadBack(LastKernelName(), to, bytes)) {
      source->kept().Read(source->OffsetOf(from), to, bytes);
    }
  } else if (bytes <= KeptBytes::kMost) {
    std::vector<char> passing(bytes);
    source->kept().Read(source->OffsetOf(from), passing.data(), bytes);
    target->kept().Write(target->OffsetOf(to), passing.data(), bytes);
  }
  return cudaSuccess;
}

cudaError_t Fill(void* address, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  Device* const device = Node::Get().OwnerOf(address);
  if (device == nullptr) return cudaErrorInvalidValue;
  const char element = static_cast<char>(value);
  device->kept().Fill(device->OffsetOf(address), &element, 1, bytes);
  return cudaSuccess;
}

}  // namespace autobatch::simcuda
