// What the protocol costs a training step: its phases and its step line, encoded, written to a
// pipe, read and understood. A ResNet-18 step takes 20 ms on the fastest GPUs at its largest batch
// and far more on CPUs; the protocol may cost 1 % of it.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "autobatch/trial/trial_transcript.h"
#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

namespace autobatch {
namespace {

void Write(int fd, const Reply& reply) {
  const std::string line = ToJson(reply) + "\n";
  if (write(fd, line.data(), line.size()) < 0) abort();
}

void BM_OneStep(benchmark::State& state) {
  int fds[2];
  if (pipe(fds) != 0) abort();
  TrialSpec asked;
  asked.steps = INT64_MAX;
  TrialTranscript transcript(asked, Hello());
  int64_t step = 0;
  char bytes[65536];
  for (auto _ : state) {
    for (TrialPhase phase :
         {TrialPhase::kForward, TrialPhase::kLoss, TrialPhase::kBackward, TrialPhase::kOptimizer}) {
      Write(fds[1], {.type = ReplyType::kPhase, .phase = phase});
    }
    StepObservation observed = {.step = ++step,
                                .forward_ms = 12.345678,
                                .backward_ms = 23.456789,
                                .optimizer_ms = 1.234567,
                                .step_ms = 37.037034};
    observed.peak = {.reserved_bytes = int64_t{20} << 30, .allocated_bytes = int64_t{19} << 30};
    observed.loss = 6.907755;
    Write(fds[1], {.type = ReplyType::kStep, .step = observed});
    const ssize_t got = read(fds[0], bytes, sizeof(bytes));
    if (!transcript.Append({bytes, static_cast<size_t>(got)}, {}).ok()) abort();
  }
  close(fds[0]);
  close(fds[1]);
}
BENCHMARK(BM_OneStep)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace autobatch
