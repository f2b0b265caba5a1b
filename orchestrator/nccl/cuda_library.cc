#include "orchestrator/nccl/cuda_library.h"

#include <utility>

#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"
#include "autobatch/device/library_function.h"

namespace autobatch {
namespace {

// CU_STREAM_NON_BLOCKING: the stream does not wait for the default one.
constexpr unsigned kNonBlocking = 1;

template <typename... Arguments>
using Function = LibraryFunction<DriverResult, kDriverNotFound, Arguments...>;

class CudaLibrary final : public CudaApi {
 public:
  explicit CudaLibrary(DynamicLibrary library) : library_(std::move(library)) {
    // Contexts are not taken down but with the process.
    library_.StayLoaded();
  }

  DriverResult PrimaryContextRetain(CudaContext** context, DriverDevice device) override {
    return retain_(context, device);
  }
  DriverResult ContextSetCurrent(CudaContext* context) override { return set_current_(context); }
  DriverResult MemGetInfo(size_t* free, size_t* total) override { return info_(free, total); }
  DriverResult MemAlloc(uint64_t* address, size_t bytes) override { return alloc_(address, bytes); }
  DriverResult CopyToDevice(uint64_t to, const void* from, size_t bytes) override {
    return to_device_(to, from, bytes);
  }
  DriverResult CopyToHost(void* to, uint64_t from, size_t bytes) override {
    return to_host_(to, from, bytes);
  }
  DriverResult StreamCreate(CudaStream** stream) override { return stream_(stream, kNonBlocking); }
  DriverResult StreamQuery(CudaStream* stream) override { return query_(stream); }

 private:
  DynamicLibrary library_;
  Function<CudaContext**, DriverDevice> retain_ = {library_, "cuDevicePrimaryCtxRetain"};
  Function<CudaContext*> set_current_ = {library_, "cuCtxSetCurrent"};
  Function<size_t*, size_t*> info_ = {library_, "cuMemGetInfo_v2"};
  Function<uint64_t*, size_t> alloc_ = {library_, "cuMemAlloc_v2"};
  Function<uint64_t, const void*, size_t> to_device_ = {library_, "cuMemcpyHtoD_v2"};
  Function<void*, uint64_t, size_t> to_host_ = {library_, "cuMemcpyDtoH_v2"};
  Function<CudaStream**, unsigned> stream_ = {library_, "cuStreamCreate"};
  Function<CudaStream*> query_ = {library_, "cuStreamQuery"};
};

}  // namespace

absl::StatusOr<std::unique_ptr<CudaApi>> LoadCuda(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<CudaLibrary>(std::move(library));
}

}  // namespace autobatch
