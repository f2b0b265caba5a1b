// NCCL within one process: communicators of one rank, whose collectives are copies.

#include <nccl.h>

#include <cstdio>
#include <cstring>

#include "autobatch/simcuda/copy.h"
#include "autobatch/simcuda/library_memory.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

constexpr int kDefaultVersion = 22809;

struct Communicator {
  LibraryMemory memory;
  int device = 0;
  ncclUniqueId id = {};
};

thread_local const char* last_error = "";

Communicator& CommunicatorOf(ncclComm_t handle) { return *reinterpret_cast<Communicator*>(handle); }

ncclResult_t Make(ncclComm_t* handle, int ranks, int rank, const ncclUniqueId& id) {
  if (ranks != 1 || rank != 0) {
    last_error = "simcuda: a communicator of several ranks is not simulated";
    std::fprintf(stderr, "%s\n", last_error);
    return ncclInvalidUsage;
  }
  auto* const communicator = new Communicator;
  if (!communicator->memory.Take(static_cast<double>(Node::Get().model().Communicator(ranks)))) {
    delete communicator;
    last_error = "simcuda: out of memory for a communicator";
    return ncclUnhandledCudaError;
  }
  communicator->device = CurrentOrdinal();
  communicator->id = id;
  *handle = reinterpret_cast<ncclComm_t>(communicator);
  return ncclSuccess;
}

size_t BytesOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

// What every collective of one rank comes to.
ncclResult_t Pass(const void* from, void* to, size_t count, ncclDataType_t type) {
  if (from == to || to == nullptr) return ncclSuccess;
  return Copy(to, from, count * BytesOf(type)) == cudaSuccess ? ncclSuccess
                                                              : ncclUnhandledCudaError;
}

}  // namespace

#define NCCL SIMCUDA_EXPORT ncclResult_t

NCCL ncclGetVersion(int* version) {
  *version = NcclVersion() == 0 ? kDefaultVersion : NcclVersion();
  return ncclSuccess;
}

NCCL ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof(*id));
  return ncclSuccess;
}

NCCL ncclCommInitRank(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank) {
  return Make(handle, ranks, rank, id);
}

NCCL ncclCommInitRankConfig(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank,
                            ncclConfig_t*) {
  return Make(handle, ranks, rank, id);
}

NCCL ncclCommInitRankScalable(ncclComm_t* handle, int ranks, int rank, int, ncclUniqueId* ids,
                              ncclConfig_t*) {
  return Make(handle, ranks, rank, *ids);
}

NCCL ncclCommInitAll(ncclComm_t* handles, int count, const int*) {
  return Make(handles, count, 0, ncclUniqueId{});
}

NCCL ncclCommSplit(ncclComm_t, int, int, ncclComm_t* handle, ncclConfig_t*) {
  return Make(handle, 1, 0, ncclUniqueId{});
}

NCCL ncclCommDestroy(ncclComm_t handle) {
  delete &CommunicatorOf(handle);
  return ncclSuccess;
}
NCCL ncclCommAbort(ncclComm_t handle) { return ncclCommDestroy(handle); }
NCCL ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

NCCL ncclCommCount(const ncclComm_t, int* count) {
  *count = 1;
  return ncclSuccess;
}

NCCL ncclCommUserRank(const ncclComm_t, int* rank) {
  *rank = 0;
  return ncclSuccess;
}

NCCL ncclCommCuDevice(const ncclComm_t handle, int* device) {
  *device = CommunicatorOf(handle).device;
  return ncclSuccess;
}

NCCL ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = Broken() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  return ncclSuccess;
}

NCCL ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = nullptr;
  return ncclSuccess;
}

NCCL ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }

NCCL ncclGroupStart() { return ncclSuccess; }
NCCL ncclGroupEnd() { return ncclSuccess; }

NCCL ncclMemAlloc(void** address, size_t bytes) {
  return cudaMalloc(address, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

NCCL ncclMemFree(void* address) {
  return cudaFree(address) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

SIMCUDA_EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclInvalidUsage:
      return "invalid usage";
    default:
      return "unknown result code";
  }
}

SIMCUDA_EXPORT const char* ncclGetLastError(ncclComm_t) { return last_error; }

NCCL ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                   ncclComm_t, cudaStream_t) {
  return Pass(from, to, count, type);
}

NCCL ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t, int,
                ncclComm_t, cudaStream_t) {
  return Pass(from, to, count, type);
}

NCCL ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int, ncclComm_t,
                   cudaStream_t) {
  return Pass(from, to, count, type);
}

NCCL ncclBcast(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) { return ncclSuccess; }

NCCL ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t,
                   cudaStream_t) {
  return Pass(from, to, count, type);
}

NCCL ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                       ncclComm_t, cudaStream_t) {
  return Pass(from, to, count, type);
}

NCCL ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t,
                  cudaStream_t) {
  return Pass(from, to, count, type);
}
