// NCCL: what the ranks of a communicator do together.

#include <nccl.h>

#include "autobatch/simcuda/nccl_group.h"
#include "autobatch/simcuda/nccl_reduce.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

using Kind = Collective::Kind;

ncclResult_t Ask(ncclComm_t handle, const Collective& collective, cudaStream_t stream) {
  if (handle == nullptr) return ncclInvalidArgument;
  return IssueInGroup(*reinterpret_cast<Communicator*>(handle), collective, stream);
}

}  // namespace

#define NCCL SIMCUDA_EXPORT ncclResult_t

NCCL ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                   ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return Ask(handle, {Kind::kAllReduce, from, to, count, type, operation, 0}, stream);
}

NCCL ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                ncclRedOp_t operation, int root, ncclComm_t handle, cudaStream_t stream) {
  return Ask(handle, {Kind::kReduce, from, to, count, type, operation, root}, stream);
}

NCCL ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                   ncclComm_t handle, cudaStream_t stream) {
  return Ask(handle, {Kind::kBroadcast, from, to, count, type, ncclSum, root}, stream);
}

NCCL ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t handle,
               cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, handle, stream);
}

NCCL ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t handle,
                   cudaStream_t stream) {
  return Ask(handle, {Kind::kAllGather, from, to, count, type, ncclSum, 0}, stream);
}

NCCL ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                       ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return Ask(handle, {Kind::kReduceScatter, from, to, count, type, operation, 0}, stream);
}

NCCL ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t handle,
                  cudaStream_t stream) {
  return Ask(handle, {Kind::kAllToAll, from, to, count, type, ncclSum, 0}, stream);
}

NCCL ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
              cudaStream_t stream) {
  return Ask(handle, {Kind::kSend, from, nullptr, count, type, ncclSum, peer}, stream);
}

NCCL ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
              cudaStream_t stream) {
  return Ask(handle, {Kind::kReceive, nullptr, to, count, type, ncclSum, peer}, stream);
}

NCCL ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* factor, ncclDataType_t type,
                              ncclScalarResidence_t residence, ncclComm_t handle) {
  if (operation == nullptr || factor == nullptr || handle == nullptr || BytesOf(type) == 0) {
    return ncclInvalidArgument;
  }
  char bytes[8] = {};
  const bool on_host = residence == ncclScalarHostImmediate;
  const cudaError_t copied = cudaMemcpy(bytes, factor, BytesOf(type),
                                        on_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost);
  if (copied != cudaSuccess) return ncclUnhandledCudaError;
  *operation = reinterpret_cast<Communicator*>(handle)->AddFactor(ReadNumber(type, bytes));
  return ncclSuccess;
}

NCCL ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) { return ncclSuccess; }
