#include "autobatch/worker/describe.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "autobatch/types/failure_text.h"
#include "autobatch/worker/cuda_identity.h"

namespace autobatch {
namespace {

// LibTorch has loaded these libraries; asking them, and not the headers, tells what really runs.
template <typename F>
F* Loaded(const char* symbol) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, symbol));
}

std::optional<std::string> CudaVersion() {
  int version = 0;
  auto* get = Loaded<int(int*)>("cudaRuntimeGetVersion");
  if (get == nullptr || get(&version) != 0) return std::nullopt;
  return FormatCudaVersion(version);
}

std::optional<std::string> CudnnVersion() {
  auto* get = Loaded<std::size_t()>("cudnnGetVersion");
  if (get == nullptr) return std::nullopt;
  return FormatLibraryVersion(static_cast<int>(get()));
}

std::optional<std::string> NcclVersion() {
  int version = 0;
  auto* get = Loaded<int(int*)>("ncclGetVersion");
  if (get == nullptr || get(&version) != 0) return std::nullopt;
  return FormatLibraryVersion(version);
}

}  // namespace

std::string FormatLibraryVersion(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string FormatCudaVersion(int version) {
  return absl::StrCat(version / 1000, ".", version / 10 % 100);
}

WorkerDescription DescribeWorker() {
  WorkerDescription description = {.libtorch_version = TORCH_VERSION,
                                   .cuda_version = CudaVersion(),
                                   .cudnn_version = CudnnVersion(),
                                   .nccl_version = NcclVersion()};
  try {
    const int count = c10::cuda::device_count_ensure_non_zero();
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    for (int i = 0; i < count; ++i) {
      description.devices.push_back(
          DescribeCudaDevice(*at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(i)), i));
    }
  } catch (const c10::Error& error) {
    description.cuda_error = ErrorSummary(error.what_without_backtrace());
  }
  return description;
}

}  // namespace autobatch
