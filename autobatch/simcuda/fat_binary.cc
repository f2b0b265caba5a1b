#include "autobatch/simcuda/fat_binary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace autobatch::simcuda {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kBinaryMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;
constexpr uint16_t kMachineCode = 2;
// Nobody packs more: a reason to stop in front of a layout that is not this one.
constexpr int kMostEntries = 256;

// Layouts that NVIDIA does not document; they have been the same since CUDA 9.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* binary;
  const void* more;
};

struct BinaryHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;
};

struct EntryHeader {
  uint16_t kind;
  uint16_t attributes;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t architecture;
};
static_assert(offsetof(EntryHeader, architecture) == 28);

template <typename T>
T At(const char* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

}  // namespace

FatBinary ReadFatBinary(const void* wrapper) {
  FatBinary result;
  const auto outer = At<Wrapper>(static_cast<const char*>(wrapper));
  if (outer.magic != kWrapperMagic || outer.binary == nullptr) return result;
  const char* at = static_cast<const char*>(outer.binary);
  const auto header = At<BinaryHeader>(at);
  if (header.magic != kBinaryMagic) return result;
  at += header.header_bytes;
  const char* const end = at + header.bytes;
  for (int i = 0; i < kMostEntries && at + sizeof(EntryHeader) <= end; ++i) {
    const auto entry = At<EntryHeader>(at);
    if (entry.header_bytes < sizeof(EntryHeader)) return {};
    if (entry.kind == kMachineCode) {
      result.machine_code.push_back(static_cast<int>(entry.architecture));
    }
    if (entry.kind == kPtx) result.ptx.push_back(static_cast<int>(entry.architecture));
    at += entry.header_bytes + entry.bytes;
  }
  result.known = !result.machine_code.empty() || !result.ptx.empty();
  return result;
}

std::optional<PickedCode> PickCode(const FatBinary& binary, int compute_capability) {
  if (!binary.known) return PickedCode{.binary = compute_capability, .ptx = compute_capability};
  int best = 0;
  for (const int code : binary.machine_code) {
    if (code / 10 == compute_capability / 10 && code <= compute_capability) {
      best = std::max(best, code);
    }
  }
  if (best != 0) return PickedCode{.binary = best, .ptx = best};
  for (const int code : binary.ptx) {
    if (code <= compute_capability) best = std::max(best, code);
  }
  if (best != 0) return PickedCode{.binary = compute_capability, .ptx = best};
  return std::nullopt;
}

}  // namespace autobatch::simcuda
