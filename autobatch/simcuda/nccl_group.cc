#include "autobatch/simcuda/nccl_group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {
namespace {

// Messages of one communicator and stream go together; other collectives alone.
struct Batch {
  Communicator* communicator = nullptr;
  cudaStream_t stream = nullptr;
  int device = 0;
  bool is_messages = false;
  std::vector<Collective> collectives;
};

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Batch> batches;
  std::vector<Communicator*> starting;
};

thread_local Group group;

void Note(ncclResult_t result) {
  if (group.error == ncclSuccess) group.error = result;
}

ncclResult_t Finish(Communicator& communicator) {
  return communicator.blocking() ? communicator.WaitUntilReady() : ncclInProgress;
}

}  // namespace

void StartGroup() { ++group.depth; }

ncclResult_t EndGroup() {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, Group{});
  group.error = ended.error;
  for (Communicator* const communicator : ended.starting) Note(Finish(*communicator));
  const int device = CurrentOrdinal();
  for (const Batch& batch : ended.batches) {
    // A thread may serve several devices in one group.
    SetCurrentOrdinal(batch.device);
    Note(Issue(*batch.communicator, batch.collectives, batch.stream));
  }
  SetCurrentOrdinal(device);
  return std::exchange(group.error, ncclSuccess);
}

ncclResult_t IssueInGroup(Communicator& communicator, const Collective& collective,
                          cudaStream_t stream) {
  const bool is_message =
      collective.kind == Collective::Kind::kSend || collective.kind == Collective::Kind::kReceive;
  if (group.depth == 0) return Issue(communicator, {collective}, stream);
  const auto same =
      std::find_if(group.batches.begin(), group.batches.end(), [&](const Batch& batch) {
        return is_message && batch.is_messages && batch.communicator == &communicator &&
               batch.stream == stream;
      });
  if (same != group.batches.end()) {
    same->collectives.push_back(collective);
  } else {
    group.batches.push_back({.communicator = &communicator,
                             .stream = stream,
                             .device = communicator.device(),
                             .is_messages = is_message,
                             .collectives = {collective}});
  }
  return ncclSuccess;
}

ncclResult_t WaitInGroup(Communicator& communicator) {
  if (group.depth == 0) return Finish(communicator);
  group.starting.push_back(&communicator);
  return communicator.blocking() ? ncclSuccess : ncclInProgress;
}

}  // namespace autobatch::simcuda
