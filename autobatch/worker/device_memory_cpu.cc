#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "autobatch/worker/budgeted_cpu_allocator.h"
#include "autobatch/worker/device_memory.h"

namespace autobatch {
namespace {

// The allocator keeps no cache: what is reserved is what tensors occupy.
class CpuMemory final : public DeviceMemory {
 public:
  c10::Device device() const override { return c10::Device(c10::DeviceType::CPU); }
  std::optional<std::string> uuid() const override { return std::nullopt; }

  // The host's memory, not the cgroup's room: the parent knows that one and sends it as the limit.
  View Query() const override {
    View view;
    std::ifstream meminfo("/proc/meminfo");
    std::string name;
    int64_t kibibytes = 0;
    while (meminfo >> name >> kibibytes) {
      if (name == "MemTotal:") view.total_bytes = kibibytes * 1024;
      if (name == "MemAvailable:") view.free_bytes = kibibytes * 1024;
      meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return view;
  }

  void SetLimit(std::optional<int64_t> bytes) override {
    allocator_.SetBudget(bytes.value_or(BudgetedCpuAllocator::kUnlimited));
  }
  MemoryPeak Peak() const override {
    return {.reserved_bytes = allocator_.peak_bytes(),
            .allocated_bytes = allocator_.peak_bytes(),
            .requested_bytes = allocator_.peak_requested_bytes()};
  }
  void ResetPeaks() override { allocator_.ResetPeaks(); }
  int64_t HeldBytes() const override { return allocator_.current_bytes(); }
  std::optional<int64_t> ContextBytes() const override { return std::nullopt; }
  int64_t Retries() const override { return 0; }
  std::optional<int64_t> RefusedBytes() const override { return allocator_.refused_bytes(); }
  void ClearRefusal() override { allocator_.ClearRefusal(); }
  void ReleaseCache() override { BudgetedCpuAllocator::ReleaseFreeMemory(); }
  void Synchronize() override {}

 private:
  BudgetedCpuAllocator& allocator_ = BudgetedCpuAllocator::Install();
};

}  // namespace

std::unique_ptr<DeviceMemory> MakeCpuMemory() { return std::make_unique<CpuMemory>(); }

}  // namespace autobatch
