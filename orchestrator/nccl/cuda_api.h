#ifndef AUTOBATCH_NCCL_CUDA_API_H_
#define AUTOBATCH_NCCL_CUDA_API_H_

#include <cstddef>
#include <cstdint>

#include "autobatch/device/driver_api.h"

namespace autobatch {

struct CudaContext;
struct CudaStream;

// What an all-reduce needs of the CUDA driver beside the devices' identity (DriverApi): a real one
// from LoadCuda(), a FakeCuda in tests. The driver and not the runtime, since it comes with every
// GPU and fits every program; NCCL's runtime shares its primary contexts. A call that the library
// lacks returns kDriverNotFound.
class CudaApi {
 public:
  virtual ~CudaApi() = default;

  virtual DriverResult PrimaryContextRetain(CudaContext** context, DriverDevice device) = 0;
  virtual DriverResult ContextSetCurrent(CudaContext* context) = 0;

  // All of these are of the current context.
  virtual DriverResult MemGetInfo(size_t* free, size_t* total) = 0;
  virtual DriverResult MemAlloc(uint64_t* address, size_t bytes) = 0;
  virtual DriverResult CopyToDevice(uint64_t to, const void* from, size_t bytes) = 0;
  virtual DriverResult CopyToHost(void* to, uint64_t from, size_t bytes) = 0;
  virtual DriverResult StreamCreate(CudaStream** stream) = 0;
  // kDriverNotReady while work of the stream is not done.
  virtual DriverResult StreamQuery(CudaStream* stream) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_CUDA_API_H_
