#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/failure_text.h"
#include "autobatch/worker/cuda_identity.h"
#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/nvml_free.h"

namespace autobatch {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// The allocator's statistics for all pools together.
constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
constexpr int64_t kNoRefusal = -1;
constexpr c10::DeviceIndex kDevice = 0;

class CudaMemory final : public DeviceMemory {
 public:
  // Creates the context. Throws c10::Error.
  CudaMemory() {
    // Before anything that could create a context elsewhere.
    c10::cuda::set_device(kDevice);
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(kDevice);
    total_bytes_ = static_cast<int64_t>(properties.totalGlobalMem);
    uuid_ = FormatCudaUuid(properties.uuid, CudaDeviceKind(properties.name));
    // The driver's own figure, read before this process has a context, is the only way to know what
    // the context takes.
    free_before_context_ = NvmlFreeBytes(uuid_);
    c10::cuda::device_synchronize();
    // The allocator calls it from whatever thread fails; it outlives the allocator's use of it
    // because this object lives as long as the process trains.
    allocator::get()->attachOutOfMemoryObserver(
        [this](int64_t device, std::size_t bytes, std::size_t, std::size_t) {
          int64_t none = kNoRefusal;
          if (device == kDevice)
            refused_.compare_exchange_strong(none, static_cast<int64_t>(bytes));
        });
  }

  c10::Device device() const override { return c10::Device(c10::DeviceType::CUDA, kDevice); }
  std::optional<std::string> uuid() const override { return uuid_; }

  View Query() const override {
    const auto [free, total] = allocator::get()->getMemoryInfo(kDevice);
    return {.total_bytes = static_cast<int64_t>(total), .free_bytes = static_cast<int64_t>(free)};
  }

  void SetLimit(std::optional<int64_t> bytes) override {
    double fraction = 1;
    if (bytes.has_value()) {
      // The allocator multiplies the fraction by the device's total, of which the driver and the
      // properties may have different ideas: by the larger one the limit is never above what was
      // asked.
      const int64_t total = std::max(total_bytes_, Query().total_bytes.value_or(0));
      fraction = std::clamp(static_cast<double>(*bytes) / static_cast<double>(total), 0.0, 1.0);
    }
    allocator::setMemoryFraction(fraction, kDevice);
  }

  MemoryPeak Peak() const override {
    const allocator::DeviceStats stats = allocator::getDeviceStats(kDevice);
    return {.reserved_bytes = stats.reserved_bytes[kAll].peak,
            .allocated_bytes = stats.allocated_bytes[kAll].peak,
            .requested_bytes = stats.requested_bytes[kAll].peak};
  }
  void ResetPeaks() override { allocator::resetPeakStats(kDevice); }
  int64_t HeldBytes() const override {
    return allocator::getDeviceStats(kDevice).reserved_bytes[kAll].current;
  }
  std::optional<int64_t> ContextBytes() const override {
    const std::optional<int64_t> free = NvmlFreeBytes(uuid_);
    if (!free.has_value() || !free_before_context_.has_value()) return std::nullopt;
    return std::max<int64_t>(0, *free_before_context_ - *free - HeldBytes());
  }
  int64_t Retries() const override { return allocator::getDeviceStats(kDevice).num_alloc_retries; }

  std::optional<int64_t> RefusedBytes() const override {
    const int64_t bytes = refused_.load();
    if (bytes == kNoRefusal) return std::nullopt;
    return bytes;
  }
  void ClearRefusal() override { refused_.store(kNoRefusal); }

  void ReleaseCache() override {
    // A handle keeps its workspace for good, and in a segment it would hold the rest back as well.
    at::cuda::clearCublasWorkspaces();
    allocator::emptyCache();
  }
  void Synchronize() override { c10::cuda::device_synchronize(); }

 private:
  std::string uuid_;
  int64_t total_bytes_ = 0;
  std::optional<int64_t> free_before_context_;
  std::atomic<int64_t> refused_{kNoRefusal};
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeCudaMemory() {
  try {
    c10::cuda::device_count_ensure_non_zero();
    if (allocator::get()->name() == "cudaMallocAsync") {
      return absl::FailedPreconditionError(
          "PYTORCH_ALLOC_CONF or PYTORCH_CUDA_ALLOC_CONF: backend:cudaMallocAsync keeps no peaks "
          "and knows no limit, so that nothing can be said of memory with it");
    }
    return std::make_unique<CudaMemory>();
  } catch (const c10::Error& error) {
    const std::string text = ErrorSummary(error.what_without_backtrace());
    if (ClassifyErrorText(text, /*nearly_full=*/false) == FailureKind::kOutOfMemory) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the device has no room for CUDA's own context: ", text));
    }
    return absl::UnavailableError(text);
  }
}

}  // namespace autobatch
