#include "autobatch/simcuda/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace autobatch::simcuda {

AddressSpace::~AddressSpace() {
  if (base_ != nullptr) munmap(base_, size_);
}

bool AddressSpace::Create(uint64_t bytes) {
  const uint64_t size = RoundToPages(bytes) + kPage;
  void* base =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (base == MAP_FAILED) return false;
  madvise(base, size, MADV_DONTDUMP);
  base_ = static_cast<char*>(base);
  size_ = size;
  const uint64_t misaligned = reinterpret_cast<uintptr_t>(base) % kPage;
  const uint64_t first = misaligned == 0 ? 0 : kPage - misaligned;
  gaps_[first] = (size - first) / kPage * kPage;
  return true;
}

void* AddressSpace::Reserve(uint64_t bytes) {
  bytes = std::max(RoundToPages(bytes), kPage);
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const auto [offset, length] = *gap;
    if (length < bytes) continue;
    gaps_.erase(gap);
    if (length > bytes) gaps_[offset + bytes] = length - bytes;
    taken_[offset] = bytes;
    return base_ + offset;
  }
  return nullptr;
}

std::optional<uint64_t> AddressSpace::Release(const void* address) {
  if (!Contains(address)) return std::nullopt;
  const auto taken = taken_.find(OffsetOf(address));
  if (taken == taken_.end()) return std::nullopt;
  const uint64_t bytes = taken->second;
  uint64_t offset = taken->first;
  uint64_t length = bytes;
  taken_.erase(taken);
  auto next = gaps_.lower_bound(offset);
  if (next != gaps_.end() && next->first == offset + length) {
    length += next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += length;
      return bytes;
    }
  }
  gaps_[offset] = length;
  return bytes;
}

std::optional<AddressRange> AddressSpace::Find(const void* address) const {
  if (!Contains(address)) return std::nullopt;
  const uint64_t offset = OffsetOf(address);
  auto taken = taken_.upper_bound(offset);
  if (taken == taken_.begin()) return std::nullopt;
  --taken;
  if (offset >= taken->first + taken->second) return std::nullopt;
  return AddressRange{.begin = base_ + taken->first, .bytes = taken->second};
}

bool AddressSpace::Contains(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  return base_ != nullptr && at >= base_ && at < base_ + size_;
}

uint64_t AddressSpace::OffsetOf(const void* address) const {
  return static_cast<uint64_t>(static_cast<const char*>(address) - base_);
}

}  // namespace autobatch::simcuda
