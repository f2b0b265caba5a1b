// Takes this node's GPUs through one minimum over NCCL, or makes an id for one. Started by an agent
// or a coordinator (child_reducer.h) with its command on an inherited descriptor; a process of its
// own, since NCCL and the driver may hang or crash, and keep device memory until the process ends.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/driver_library.h"
#include "orchestrator/nccl/cuda_library.h"
#include "orchestrator/nccl/local_ranks.h"
#include "orchestrator/nccl/nccl_candidates.h"
#include "orchestrator/nccl/nccl_library.h"
#include "orchestrator/nccl/reduce_channel.h"

namespace autobatch {
namespace {

// Between two looks: far below what an all-reduce over a network takes.
constexpr absl::Duration kPause = absl::Milliseconds(1);
// For letting go of the communicators once the answer is told.
constexpr absl::Duration kClosing = absl::Seconds(1);

std::optional<std::string> Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Before NCCL reads them.
void SetEnvironment() {
  // It would take the place of the id that is handed out for this attempt.
  unsetenv("NCCL_COMM_ID");
  // Why something failed is only in its warnings, which the parent keeps the last of.
  setenv("NCCL_DEBUG", "WARN", /*replace=*/0);
}

absl::Status NoDriver(const absl::Status& status) {
  return absl::FailedPreconditionError(
      absl::StrCat("no NCCL: no NVIDIA driver (", status.message(), ")"));
}

absl::Status MakeUniqueId(NcclApi& nccl, ReduceChannel& channel) {
  UniqueId id = {};
  if (const NcclResult result = nccl.GetUniqueId(&id); result != kNcclSuccess) {
    return absl::AbortedError(absl::StrCat("making a unique id: ", nccl.Describe(result, nullptr)));
  }
  AB_RETURN_IF_ERROR(
      channel.Send({.type = ReduceReplyType::kUniqueId, .unique_id = UniqueIdToHex(id)}));
  // The ranks meet at a thread of this process.
  while (!channel.WaitForClose(absl::InfiniteDuration())) {
  }
  return absl::OkStatus();
}

absl::Status Reduce(const ReduceCommand& command, const LoadedNccl& nccl, SteadyTime begin,
                    ReduceChannel& channel) {
  if (!command.request.has_value()) return absl::InvalidArgumentError("nothing to reduce");
  absl::StatusOr<std::unique_ptr<DriverApi>> driver = LoadDriver();
  if (!driver.ok()) return NoDriver(driver.status());
  absl::StatusOr<std::unique_ptr<CudaApi>> cuda = LoadCuda();
  if (!cuda.ok()) return NoDriver(cuda.status());

  LocalRanks ranks(
      {.nccl = *nccl.api,
       .driver = **driver,
       .cuda = **cuda,
       .clock = Clock::Real(),
       .pause = [&] { return channel.WaitForClose(kPause); },
       .on_phase =
           [&](ReducePhase phase) {
             channel.Send({.type = ReduceReplyType::kPhase, .phase = phase}).IgnoreError();
           }});
  const SteadyTime deadline = Add(begin, absl::Milliseconds(command.timeout_ms));
  absl::StatusOr<ReduceAnswer> answer = ranks.Reduce(*command.request, deadline);
  if (!answer.ok()) {
    // Told first: aborting is known to hang.
    channel.Send({.type = ReduceReplyType::kFailure, .failure = ToFailure(answer.status())})
        .IgnoreError();
    ranks.Abort();
    return absl::OkStatus();
  }
  answer->library = nccl.description;
  AB_RETURN_IF_ERROR(channel.Send({.type = ReduceReplyType::kAnswer, .answer = *answer}));
  ranks.Close(Add(Clock::Real().Now(), kClosing));
  return absl::OkStatus();
}

absl::Status Serve(ReduceChannel& channel) {
  AB_ASSIGN_OR_RETURN(const ReduceCommand command, channel.Receive());
  const SteadyTime begin = Clock::Real().Now();
  SetEnvironment();
  AB_ASSIGN_OR_RETURN(
      const LoadedNccl nccl,
      LoadNccl(command.nccl_library.empty() ? NcclCandidates(Environment)
                                            : std::vector<std::string>{command.nccl_library}));
  switch (command.task) {
    case ReduceTask::kUniqueId:
      return MakeUniqueId(*nccl.api, channel);
    case ReduceTask::kReduce:
      return Reduce(command, nccl, begin, channel);
  }
  return absl::InvalidArgumentError("an unknown task");
}

}  // namespace
}  // namespace autobatch

int main() {
  auto channel = autobatch::ReduceChannel::FromEnvironment();
  if (!channel.ok()) {
    std::fprintf(stderr, "reduce: %s\n", std::string(channel.status().message()).c_str());
    return 2;
  }
  const absl::Status served = autobatch::Serve(*channel);
  if (!served.ok()) {
    channel
        ->Send(
            {.type = autobatch::ReduceReplyType::kFailure, .failure = autobatch::ToFailure(served)})
        .IgnoreError();
  }
  std::fflush(nullptr);
  // NCCL's and CUDA's destructors wait for what may never come.
  _exit(served.ok() ? 0 : 1);
}
