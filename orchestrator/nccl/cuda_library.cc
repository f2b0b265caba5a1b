#include "orchestrator/nccl/cuda_library.h"

#include <utility>

#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"

namespace autobatch {
namespace {

// CU_STREAM_NON_BLOCKING: the stream does not wait for the default one.
constexpr unsigned kNonBlocking = 1;

template <typename... Arguments>
using Function = int(Arguments...);

template <typename Pointer, typename... Arguments>
DriverResult Call(Pointer function, Arguments... arguments) {
  if (function == nullptr) return kDriverNotFound;
  return static_cast<DriverResult>(function(arguments...));
}

class CudaLibrary final : public CudaApi {
 public:
  explicit CudaLibrary(DynamicLibrary library) {
    library.Find("cuDevicePrimaryCtxRetain", retain_);
    library.Find("cuCtxSetCurrent", set_current_);
    library.Find("cuMemGetInfo_v2", info_);
    library.Find("cuMemAlloc_v2", alloc_);
    library.Find("cuMemcpyHtoD_v2", to_device_);
    library.Find("cuMemcpyDtoH_v2", to_host_);
    library.Find("cuStreamCreate", stream_);
    library.Find("cuStreamQuery", query_);
    // Contexts are not taken down but with the process.
    library.StayLoaded();
  }

  DriverResult PrimaryContextRetain(CudaContext** context, DriverDevice device) override {
    return Call(retain_, context, device);
  }
  DriverResult ContextSetCurrent(CudaContext* context) override {
    return Call(set_current_, context);
  }
  DriverResult MemGetInfo(size_t* free, size_t* total) override { return Call(info_, free, total); }
  DriverResult MemAlloc(uint64_t* address, size_t bytes) override {
    return Call(alloc_, address, bytes);
  }
  DriverResult CopyToDevice(uint64_t to, const void* from, size_t bytes) override {
    return Call(to_device_, to, from, bytes);
  }
  DriverResult CopyToHost(void* to, uint64_t from, size_t bytes) override {
    return Call(to_host_, to, from, bytes);
  }
  DriverResult StreamCreate(CudaStream** stream) override {
    return Call(stream_, stream, kNonBlocking);
  }
  DriverResult StreamQuery(CudaStream* stream) override { return Call(query_, stream); }

 private:
  Function<CudaContext**, DriverDevice>* retain_ = nullptr;
  Function<CudaContext*>* set_current_ = nullptr;
  Function<size_t*, size_t*>* info_ = nullptr;
  Function<uint64_t*, size_t>* alloc_ = nullptr;
  Function<uint64_t, const void*, size_t>* to_device_ = nullptr;
  Function<void*, uint64_t, size_t>* to_host_ = nullptr;
  Function<CudaStream**, unsigned>* stream_ = nullptr;
  Function<CudaStream*>* query_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CudaApi>> LoadCuda(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<CudaLibrary>(std::move(library));
}

}  // namespace autobatch
