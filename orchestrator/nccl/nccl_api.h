#ifndef AUTOBATCH_NCCL_NCCL_API_H_
#define AUTOBATCH_NCCL_NCCL_API_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "orchestrator/nccl/unique_id.h"

namespace autobatch {

// Numbers of NCCL's C interface, as its reference documents them, so that this builds where nccl.h
// is not, and works with the library of any user. A test holds them against the header.
enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};

struct NcclCommunicator;

// Of one rank.
using NcclHandle = NcclCommunicator*;

// What an all-reduce adds up: the type and the operation together, since we need two of each.
enum class NcclReduction { kMinInt64, kSumFloat32 };

// The calls of libnccl that we make, one to one: a real one from LoadNccl(), a FakeNccl in tests.
// Communicators are non-blocking: a call that has only begun returns kNcclInProgress, and
// CommGetAsyncError says when it has ended. All calls of one thread.
class NcclApi {
 public:
  virtual ~NcclApi() = default;

  // 22809 is 2.28.9, 2804 is 2.8.4.
  virtual NcclResult GetVersion(int* version) = 0;
  virtual NcclResult GetUniqueId(UniqueId* id) = 0;
  virtual NcclResult GroupStart() = 0;
  virtual NcclResult GroupEnd() = 0;
  // On the current CUDA context's device; ncclCommInitRankConfig with blocking = 0.
  virtual NcclResult CommInitRank(NcclHandle* handle, int ranks, const UniqueId& id, int rank) = 0;
  virtual NcclResult CommGetAsyncError(NcclHandle handle, NcclResult* state) = 0;
  // In place, on the stream.
  virtual NcclResult AllReduce(uint64_t device_address, size_t count, NcclReduction reduction,
                               NcclHandle handle, void* stream) = 0;
  virtual NcclResult CommFinalize(NcclHandle handle) = 0;
  virtual NcclResult CommDestroy(NcclHandle handle) = 0;
  virtual NcclResult CommAbort(NcclHandle handle) = 0;
  // "remote process exited or there was a network error: ...", with what NCCL said last.
  virtual std::string Describe(NcclResult result, NcclHandle handle) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_NCCL_API_H_
