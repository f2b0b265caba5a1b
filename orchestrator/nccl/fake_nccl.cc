#include "orchestrator/nccl/fake_nccl.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace autobatch {

DriverResult FakeCuda::PrimaryContextRetain(CudaContext** context, DriverDevice device) {
  const auto index = static_cast<size_t>(device);
  *context = HandleOf<CudaContext>(index);
  return devices[index].context;
}

DriverResult FakeCuda::ContextSetCurrent(CudaContext* context) {
  if (context == nullptr) return kDriverInvalidDevice;
  current = IndexOf(context);
  return kDriverSuccess;
}

DriverResult FakeCuda::MemGetInfo(size_t* free, size_t* total) {
  *free = devices[current].free;
  *total = size_t{24} << 30;
  return devices[current].info;
}

DriverResult FakeCuda::MemAlloc(uint64_t* address, size_t bytes) {
  if (devices[current].alloc != kDriverSuccess) return devices[current].alloc;
  *address = next_address_;
  next_address_ += bytes + 512;
  devices[current].free -= bytes;
  return kDriverSuccess;
}

DriverResult FakeCuda::CopyToDevice(uint64_t to, const void* from, size_t bytes) {
  const char* const begin = static_cast<const char*>(from);
  memory[to] = {begin, begin + bytes};
  return devices[current].copy;
}

DriverResult FakeCuda::CopyToHost(void* to, uint64_t from, size_t bytes) {
  std::memset(to, 0, bytes);
  const std::vector<char>& content = memory[from];
  std::memcpy(to, content.data(), std::min(bytes, content.size()));
  return devices[current].copy;
}

DriverResult FakeCuda::StreamCreate(CudaStream** stream) {
  *stream = HandleOf<CudaStream>(current);
  return kDriverSuccess;
}

DriverResult FakeCuda::StreamQuery(CudaStream* stream) {
  Device& device = devices[IndexOf(stream)];
  if (device.looks_until_done != 0) {
    --device.looks_until_done;
    return kDriverNotReady;
  }
  return device.query;
}

NcclResult FakeNccl::Begin(Communicator& communicator, NcclResult call, int looks,
                           NcclResult then) {
  communicator.looks_left = looks;
  communicator.then = then;
  return call;
}

NcclResult FakeNccl::GetVersion(int* code) {
  *code = version;
  return version_result;
}

NcclResult FakeNccl::GetUniqueId(UniqueId* id) {
  id->fill('u');
  return kNcclSuccess;
}

NcclResult FakeNccl::GroupStart() {
  ++depth;
  return kNcclSuccess;
}

NcclResult FakeNccl::GroupEnd() {
  --depth;
  int64_t minimum = others.value_or(std::numeric_limits<int64_t>::max());
  for (const Pending& pending : pending_) {
    int64_t number = 0;
    cuda_.CopyToHost(&number, pending.address, sizeof(number));
    minimum = std::min(minimum, number);
  }
  for (const Pending& pending : pending_) {
    const int64_t result = minimum + ranks[pending.communicator->rank].excess;
    cuda_.CopyToDevice(pending.address, &result, sizeof(result));
  }
  pending_.clear();
  return group_end;
}

NcclResult FakeNccl::CommInitRank(NcclHandle* handle, int, const UniqueId&, int rank) {
  const FakeRank& plan = ranks[rank];
  Communicator& made =
      communicators_.emplace_back(Communicator{.rank = rank, .device = cuda_.current});
  *handle = reinterpret_cast<NcclHandle>(&made);
  return Begin(made, plan.init, plan.looks_until_joined, plan.joined);
}

NcclResult FakeNccl::CommGetAsyncError(NcclHandle handle, NcclResult* state) {
  Communicator& communicator = Of(handle);
  *state = communicator.looks_left == 0 ? communicator.then : kNcclInProgress;
  if (communicator.looks_left != 0) --communicator.looks_left;
  return kNcclSuccess;
}

NcclResult FakeNccl::AllReduce(uint64_t device_address, size_t count, NcclReduction reduction,
                               NcclHandle handle, void*) {
  Communicator& communicator = Of(handle);
  const FakeRank& plan = ranks[communicator.rank];
  counts.push_back(count);
  if (!communicator.took_memory) cuda_.devices[communicator.device].free -= communicator_bytes;
  communicator.took_memory = true;
  if (reduction == NcclReduction::kMinInt64) pending_.push_back({&communicator, device_address});
  return Begin(communicator, plan.all_reduce, plan.looks_until_reduced, plan.reduced);
}

NcclResult FakeNccl::CommFinalize(NcclHandle handle) {
  const FakeRank& plan = ranks[Of(handle).rank];
  return Begin(Of(handle), plan.finalize, plan.looks_until_final, kNcclSuccess);
}

NcclResult FakeNccl::CommDestroy(NcclHandle handle) {
  destroyed.push_back(Of(handle).rank);
  return kNcclSuccess;
}

NcclResult FakeNccl::CommAbort(NcclHandle handle) {
  aborted.push_back(Of(handle).rank);
  return kNcclSuccess;
}

std::string FakeNccl::Describe(NcclResult result, NcclHandle) {
  return absl::StrCat("NCCL result ", static_cast<int>(result), last_error.empty() ? "" : ": ",
                      last_error);
}

}  // namespace autobatch
