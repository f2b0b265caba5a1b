#ifndef AUTOBATCH_NCCL_FAKE_NCCL_H_
#define AUTOBATCH_NCCL_FAKE_NCCL_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/nccl/cuda_api.h"
#include "orchestrator/nccl/nccl_api.h"

namespace autobatch {

// Devices whose memory is the host's, one context each.
class FakeCuda final : public CudaApi {
 public:
  struct Device {
    size_t free = size_t{10} << 30;
    DriverResult context = kDriverSuccess;
    DriverResult alloc = kDriverSuccess;
    DriverResult copy = kDriverSuccess;
    DriverResult info = kDriverSuccess;
    // Of StreamQuery, once the looks are done.
    DriverResult query = kDriverSuccess;
    int looks_until_done = 2;
  };

  explicit FakeCuda(size_t count) : devices(count), handles_(count) {}

  std::vector<Device> devices;
  // By address; what was never written reads as zeros.
  std::map<uint64_t, std::vector<char>> memory;
  // Index of the current context's device.
  size_t current = 0;

  DriverResult PrimaryContextRetain(CudaContext** context, DriverDevice device) override;
  DriverResult ContextSetCurrent(CudaContext* context) override;
  DriverResult MemGetInfo(size_t* free, size_t* total) override;
  DriverResult MemAlloc(uint64_t* address, size_t bytes) override;
  DriverResult CopyToDevice(uint64_t to, const void* from, size_t bytes) override;
  DriverResult CopyToHost(void* to, uint64_t from, size_t bytes) override;
  DriverResult StreamCreate(CudaStream** stream) override;
  DriverResult StreamQuery(CudaStream* stream) override;

 private:
  // A handle of the device of that index: an address in `handles_`.
  template <typename Handle>
  Handle* HandleOf(size_t index) {
    return reinterpret_cast<Handle*>(&handles_[index]);
  }
  template <typename Handle>
  size_t IndexOf(Handle* handle) const {
    return static_cast<size_t>(reinterpret_cast<const char*>(handle) - handles_.data());
  }

  std::vector<char> handles_;
  uint64_t next_address_ = 0x1000;
};

// NCCL among the ranks of this process; `others` stands for those of other nodes. Each rank does
// what its FakeRank says.
class FakeNccl final : public NcclApi {
 public:
  struct FakeRank {
    // What the calls return, and the state that follows after so many looks; negative: never.
    NcclResult init = kNcclInProgress;
    int looks_until_joined = 2;
    NcclResult joined = kNcclSuccess;
    NcclResult all_reduce = kNcclInProgress;
    int looks_until_reduced = 1;
    NcclResult reduced = kNcclSuccess;
    NcclResult finalize = kNcclInProgress;
    int looks_until_final = 1;
    // What this rank gets is so much more than the minimum.
    int64_t excess = 0;
  };

  explicit FakeNccl(FakeCuda& cuda) : cuda_(cuda) {}

  int version = 22809;
  NcclResult version_result = kNcclSuccess;
  NcclResult group_end = kNcclInProgress;
  std::string last_error;
  // By rank.
  std::map<int, FakeRank> ranks;
  std::optional<int64_t> others;
  // Taken of a device at its first collective.
  size_t communicator_bytes = size_t{300} << 20;

  // What came of it: ranks, and elements of the collectives of each rank.
  std::vector<int> destroyed;
  std::vector<int> aborted;
  std::vector<size_t> counts;
  int depth = 0;

  NcclResult GetVersion(int* code) override;
  NcclResult GetUniqueId(UniqueId* id) override;
  NcclResult GroupStart() override;
  NcclResult GroupEnd() override;
  NcclResult CommInitRank(NcclHandle* handle, int world, const UniqueId& id, int rank) override;
  NcclResult CommGetAsyncError(NcclHandle handle, NcclResult* state) override;
  NcclResult AllReduce(uint64_t device_address, size_t count, NcclReduction reduction,
                       NcclHandle handle, void* stream) override;
  NcclResult CommFinalize(NcclHandle handle) override;
  NcclResult CommDestroy(NcclHandle handle) override;
  NcclResult CommAbort(NcclHandle handle) override;
  std::string Describe(NcclResult result, NcclHandle handle) override;

 private:
  struct Communicator {
    int rank = 0;
    size_t device = 0;
    bool took_memory = false;
    int looks_left = 0;
    NcclResult then = kNcclSuccess;
  };
  struct Pending {
    Communicator* communicator;
    uint64_t address;
  };

  Communicator& Of(NcclHandle handle) { return *reinterpret_cast<Communicator*>(handle); }
  NcclResult Begin(Communicator& communicator, NcclResult call, int looks, NcclResult then);

  FakeCuda& cuda_;
  std::list<Communicator> communicators_;
  std::vector<Pending> pending_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_FAKE_NCCL_H_
