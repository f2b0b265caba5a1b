#include "autobatch/worker/budgeted_cpu_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <climits>
#include <cstdlib>
#include <limits>
#include <new>

namespace autobatch {
namespace {

// In front of the data, so that the context pointer can be the data pointer, which oneDNN's raw
// interface demands.
struct Header {
  int64_t bytes;
};
static_assert(sizeof(Header) <= BudgetedCpuAllocator::kAlignment);

// Above the default and above anything that a library installs at start.
constexpr uint8_t kPriority = 100;

constexpr std::size_t kLargest =
    static_cast<std::size_t>(std::numeric_limits<int64_t>::max()) - 1024;

}  // namespace

void KeepHeapBetweenSteps() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

BudgetedCpuAllocator& BudgetedCpuAllocator::Install() {
  // Never destroyed: tensors with static lifetime give their memory back after main.
  static BudgetedCpuAllocator* const instance = [] {
    auto* allocator = new BudgetedCpuAllocator;
    KeepHeapBetweenSteps();
    c10::SetAllocator(c10::DeviceType::CPU, allocator, kPriority);
    return allocator;
  }();
  return *instance;
}

void BudgetedCpuAllocator::Account::RaisePeak(int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

bool BudgetedCpuAllocator::Take(int64_t footprint) {
  // Compare and exchange rather than add and undo: an allocation that is refused must not make
  // another thread's smaller one fail.
  int64_t current = held_.current.load(std::memory_order_relaxed);
  do {
    if (footprint > budget_bytes() - current) return false;
  } while (!held_.current.compare_exchange_weak(current, current + footprint,
                                                std::memory_order_relaxed));
  held_.RaisePeak(current + footprint);
  return true;
}

void BudgetedCpuAllocator::Refuse(int64_t bytes, const char* why) {
  int64_t none = kNoRefusal;
  refused_.compare_exchange_strong(none, bytes, std::memory_order_relaxed);
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CPU out of memory: ", why, " an allocation of ", bytes,
                   " bytes; ", current_bytes(), " bytes are in use of a budget of ", budget_bytes(),
                   " bytes.");
  std::abort();  // Not reached: the check above always throws.
}

c10::DataPtr BudgetedCpuAllocator::allocate(std::size_t bytes) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (bytes == 0) return {nullptr, nullptr, &Delete, cpu};
  if (bytes > kLargest) Refuse(std::numeric_limits<int64_t>::max(), "no device has room for");
  const auto asked = static_cast<int64_t>(bytes);
  const int64_t footprint = Footprint(asked);
  if (!Take(footprint)) Refuse(asked, "the budget has no room for");

  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, static_cast<std::size_t>(footprint)) != 0) {
    held_.current.fetch_sub(footprint, std::memory_order_relaxed);
    Refuse(asked, "the host has no memory for");
  }
  asked_.RaisePeak(asked_.current.fetch_add(asked, std::memory_order_relaxed) + asked);
  allocations_.fetch_add(1, std::memory_order_relaxed);

  new (memory) Header{asked};
  void* data = static_cast<char*>(memory) + kAlignment;
  return {data, data, &Delete, cpu};
}

void BudgetedCpuAllocator::Delete(void* data) {
  if (data == nullptr) return;
  void* memory = static_cast<char*>(data) - kAlignment;
  const int64_t asked = static_cast<Header*>(memory)->bytes;
  std::free(memory);
  BudgetedCpuAllocator& self = Install();
  self.asked_.current.fetch_sub(asked, std::memory_order_relaxed);
  self.held_.current.fetch_sub(Footprint(asked), std::memory_order_relaxed);
}

c10::DeleterFnPtr BudgetedCpuAllocator::raw_deleter() const { return &Delete; }

void BudgetedCpuAllocator::copy_data(void* destination, const void* source,
                                     std::size_t count) const {
  default_copy_data(destination, source, count);
}

void BudgetedCpuAllocator::ReleaseFreeMemory() { malloc_trim(0); }

void BudgetedCpuAllocator::ResetPeaks() {
  held_.peak.store(current_bytes(), std::memory_order_relaxed);
  asked_.peak.store(current_requested_bytes(), std::memory_order_relaxed);
}

std::optional<int64_t> BudgetedCpuAllocator::refused_bytes() const {
  const int64_t bytes = refused_.load(std::memory_order_relaxed);
  if (bytes == kNoRefusal) return std::nullopt;
  return bytes;
}

}  // namespace autobatch
