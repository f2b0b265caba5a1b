#ifndef AUTOBATCH_WORKER_BUDGETED_CPU_ALLOCATOR_H_
#define AUTOBATCH_WORKER_BUDGETED_CPU_ALLOCATOR_H_

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace autobatch {

// LibTorch's allocator of host memory, with exact accounts and a hard budget: it makes the CPU a
// device on which a batch fits or does not.
//
// Every tensor and every scratchpad of oneDNN comes from here. An allocation that would pass the
// budget throws c10::OutOfMemoryError and is written down as a refusal: TorchScript wraps
// exceptions and loses their type, so that the record, not the exception, tells what happened.
//
// Thread-safe; a few atomic operations an allocation.
class BudgetedCpuAllocator final : public c10::Allocator {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  // LibTorch's vector code and oneDNN want data so aligned.
  static constexpr int64_t kAlignment = 64;

  // What an allocation of `bytes` takes: the data rounded up to the alignment, and the header.
  static constexpr int64_t Footprint(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  }

  // The process's one instance; the first call installs it as c10's CPU allocator. Call it before
  // any tensor exists, since memory of another allocator is not in these accounts.
  static BudgetedCpuAllocator& Install();

  // Bytes of footprint that may be held at once. Lowering it below current_bytes() refuses what
  // comes next and takes nothing back.
  void SetBudget(int64_t bytes) { budget_.store(bytes, std::memory_order_relaxed); }
  int64_t budget_bytes() const { return budget_.load(std::memory_order_relaxed); }

  // Footprint held now, and the most held since ResetPeaks.
  int64_t current_bytes() const { return held_.current.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return held_.peak.load(std::memory_order_relaxed); }
  // The same of the bytes asked for, without rounding and header.
  int64_t current_requested_bytes() const { return asked_.current.load(std::memory_order_relaxed); }
  int64_t peak_requested_bytes() const { return asked_.peak.load(std::memory_order_relaxed); }
  // Allocations since the process started.
  int64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }
  // Starts new peaks from what is held now. Not meant to race with allocations.
  void ResetPeaks();

  // Gives what is free back to the system; steps of one trial keep it, since getting it anew costs
  // more than the accounts do.
  static void ReleaseFreeMemory();

  // The bytes that the first refused allocation since ClearRefusal asked for.
  std::optional<int64_t> refused_bytes() const;
  void ClearRefusal() { refused_.store(kNoRefusal, std::memory_order_relaxed); }

  // c10::Allocator
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* destination, const void* source, std::size_t count) const override;

 private:
  struct Account {
    std::atomic<int64_t> current{0};
    std::atomic<int64_t> peak{0};
    void RaisePeak(int64_t value);
  };

  static constexpr int64_t kNoRefusal = -1;

  BudgetedCpuAllocator() = default;
  static void Delete(void* data);
  // False when the budget does not allow it.
  bool Take(int64_t footprint);
  [[noreturn]] void Refuse(int64_t bytes, const char* why);

  std::atomic<int64_t> budget_{kUnlimited};
  Account held_;
  Account asked_;
  std::atomic<int64_t> allocations_{0};
  std::atomic<int64_t> refused_{kNoRefusal};
};

// Makes glibc keep its heap, as Install does. By itself it gives the top of the heap back whenever
// a step has freed its activations, and the next step pays for every page again: several per cent
// of a ResNet-18 step. Blocks are mapped one by one from 32 MiB, which is as far as glibc's own
// threshold grows; it has to be said because setting the other threshold stops that growth.
void KeepHeapBetweenSteps();

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_BUDGETED_CPU_ALLOCATOR_H_
