// Stands in for the reduce program and goes wrong as TEST_REDUCE says.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/time/time.h"
#include "orchestrator/nccl/reduce_channel.h"

namespace autobatch {
namespace {

int Run() {
  auto channel = ReduceChannel::FromEnvironment();
  if (!channel.ok()) return 2;
  const auto command = channel->Receive();
  if (!command.ok()) return 3;
  const std::string mode = std::getenv("TEST_REDUCE");
  const auto phase = [&](ReducePhase now) {
    channel->Send({.type = ReduceReplyType::kPhase, .phase = now}).IgnoreError();
  };
  const auto answer = [&] {
    const char* const devices = std::getenv("CUDA_VISIBLE_DEVICES");
    const NcclDescription library = {.version = devices == nullptr ? "unset" : devices,
                                     .path = command->nccl_library};
    channel
        ->Send({.type = ReduceReplyType::kAnswer,
                .answer = ReduceAnswer{.minimum = static_cast<int64_t>(command->timeout_ms),
                                       .library = library}})
        .IgnoreError();
  };
  phase(ReducePhase::kInit);
  if (mode == "answer") {
    answer();
  } else if (mode == "answer_and_hang") {
    std::signal(SIGTERM, SIG_IGN);
    answer();
    while (true) pause();
  } else if (mode == "hang") {
    std::signal(SIGTERM, SIG_IGN);
    while (true) pause();
  } else if (mode == "crash") {
    std::fprintf(stderr, "NCCL WARN something broke\n");
    std::fflush(nullptr);
    std::raise(SIGKILL);
  } else if (mode == "quit") {
    return 4;
  } else if (mode == "garbage") {
    dprintf(std::atoi(std::getenv("AUTOBATCH_REPORT_FD")), "no JSON\n");
    channel->WaitForClose(absl::InfiniteDuration());
  } else if (mode == "other") {
    channel->Send({.type = ReduceReplyType::kUniqueId, .unique_id = std::string(256, 'a')})
        .IgnoreError();
  } else if (mode == "wait") {
    channel->WaitForClose(absl::InfiniteDuration());
    std::printf("let go\n");
    std::fflush(nullptr);
  } else if (mode == "fail") {
    std::printf("NCCL WARN the reason\n");
    std::fflush(nullptr);
    channel
        ->Send({.type = ReduceReplyType::kFailure,
                .failure = ReduceFailure{.kind = ReduceFailureKind::kNccl, .message = "broken"}})
        .IgnoreError();
    channel->WaitForClose(absl::InfiniteDuration());
  }
  return 0;
}

}  // namespace
}  // namespace autobatch

int main() { return autobatch::Run(); }
