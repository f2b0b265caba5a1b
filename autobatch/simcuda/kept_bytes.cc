#include "autobatch/simcuda/kept_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace autobatch::simcuda {

KeptBytes::~KeptBytes() {
  if (base_ != nullptr) munmap(base_, size_);
}

bool KeptBytes::Create(uint64_t size) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (base == MAP_FAILED) return false;
  // A kept number costs one small page, not 2 MiB.
  madvise(base, size, MADV_NOHUGEPAGE);
  madvise(base, size, MADV_DONTDUMP);
  base_ = static_cast<char*>(base);
  size_ = size;
  return true;
}

void KeptBytes::Write(uint64_t offset, const void* bytes, uint64_t count) {
  // Nobody keeps count of what it covers.
  if (count > kMost) return Forget();
  const std::lock_guard lock(mutex_);
  std::memcpy(base_ + offset, bytes, count);
  kept_.push_back({offset, count});
  any_ = true;
}

void KeptBytes::Fill(uint64_t offset, const void* element, uint64_t element_bytes, uint64_t count) {
  const uint64_t bytes = element_bytes * count;
  if (bytes > kMost) return Forget();
  const auto* const parts = static_cast<const char*>(element);
  // Zero is what the rest reads as, but may stand where bytes are kept.
  const bool zero = std::all_of(parts, parts + element_bytes, [](char c) { return c == 0; });
  if (zero && !any_) return;
  const std::lock_guard lock(mutex_);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(base_ + offset + i * element_bytes, element, element_bytes);
  }
  kept_.push_back({offset, bytes});
  any_ = true;
}

void KeptBytes::Read(uint64_t offset, void* bytes, uint64_t count) {
  if (!any_) {
    std::memset(bytes, 0, count);
    return;
  }
  const std::lock_guard lock(mutex_);
  std::memcpy(bytes, base_ + offset, count);
}

void KeptBytes::ForgetAll() {
  const std::lock_guard lock(mutex_);
  for (const Range& range : kept_) std::memset(base_ + range.offset, 0, range.count);
  kept_.clear();
  any_ = false;
}

}  // namespace autobatch::simcuda
