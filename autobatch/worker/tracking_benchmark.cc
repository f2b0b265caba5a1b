// What our tracking costs a training step: the budgeted allocator with a limit in force, phase
// lines, step lines and the stopwatch, against the same ResNet-18 step on LibTorch's own allocator
// with nothing around it. The bar is 1 %, against a plain step whose heap is kept as ours keeps it:
// that alone makes a step faster, and must not hide what tracking costs.
//
//   bazel run --config=bench //autobatch/worker:tracking_benchmark
//
// A process each, because an allocator cannot be exchanged while oneDNN holds memory of it; they
// take turns, one step each in either order, so that what else the machine does hits both alike.

#include <ATen/core/Tensor.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "autobatch/types/protocol.h"
#include "autobatch/worker/budgeted_cpu_allocator.h"
#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/models/make_workload.h"
#include "autobatch/worker/optimizer.h"
#include "autobatch/worker/protocol_channel.h"
#include "autobatch/worker/training_step.h"

namespace autobatch {
namespace {

constexpr int kPairs = 60;
constexpr int kWarmUp = 3;
constexpr int64_t kBatch = 4;
constexpr double kBar = 0.01;

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

std::unique_ptr<Workload> ResNet18() { return *MakeWorkload({.name = "resnet18"}); }

// One step a byte from `in`; its milliseconds to `out`.
template <typename Step>
[[noreturn]] void TakeTurns(int in, int out, const Step& step) {
  char turn = 0;
  while (read(in, &turn, 1) == 1) {
    const double ms = step();
    if (write(out, &ms, sizeof(ms)) != sizeof(ms)) break;
  }
  std::_Exit(0);
}

[[noreturn]] void Plain(int in, int out) {
  const std::unique_ptr<Workload> workload = ResNet18();
  Optimizer optimizer(OptimizerKind::kMomentum, workload->Parameters());
  TakeTurns(in, out, [&] {
    const Batch batch = workload->MakeBatch(kBatch, c10::Device(c10::DeviceType::CPU));
    const auto start = std::chrono::steady_clock::now();
    optimizer.ClearGradients(ZeroGrad::kNone);
    const at::Tensor loss = workload->Loss(workload->Forward(batch), batch);
    loss.backward();
    optimizer.Step();
    static_cast<void>(loss.item<double>());
    return Milliseconds(start);
  });
}

[[noreturn]] void PlainWithHeapKept(int in, int out) {
  KeepHeapBetweenSteps();
  Plain(in, out);
}

[[noreturn]] void Tracked(int in, int out) {
  const std::unique_ptr<DeviceMemory> memory = MakeCpuMemory();
  const std::unique_ptr<Workload> workload = ResNet18();
  memory->SetLimit(int64_t{4} << 30);
  ProtocolChannel channel(-1, open("/dev/null", O_WRONLY | O_CLOEXEC));
  TrainingStep step(*workload, *memory, {}, [&](TrialPhase phase) {
    channel.Send({.type = ReplyType::kPhase, .phase = phase}).IgnoreError();
  });
  TakeTurns(in, out, [&] {
    const StepObservation seen = step.Run(kBatch);
    const auto start = std::chrono::steady_clock::now();
    channel.Send({.type = ReplyType::kStep, .step = seen}).IgnoreError();
    return seen.step_ms + Milliseconds(start);
  });
}

struct Child {
  int go = -1;
  int done = -1;

  double Step() const {
    double ms = 0;
    if (write(go, "g", 1) != 1 || read(done, &ms, sizeof(ms)) != sizeof(ms)) {
      std::fputs("a child ended\n", stderr);
      std::exit(1);
    }
    return ms;
  }
};

Child Start(void (*run)(int, int)) {
  int go[2];
  int done[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0) std::exit(1);
  if (fork() == 0) {
    close(go[1]);
    close(done[0]);
    run(go[0], done[1]);
  }
  close(go[0]);
  close(done[1]);
  return {.go = go[1], .done = done[0]};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main() {
  // Before this process has threads.
  enum { kPlain, kPlainAgain, kHeapKept, kTracked, kChildren };
  const std::array<Child, kChildren> children = {Start(&Plain), Start(&Plain),
                                                 Start(&PlainWithHeapKept), Start(&Tracked)};
  std::array<std::vector<double>, kChildren> ms;
  for (int turn = -kWarmUp; turn < kPairs; ++turn) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::size_t child = (static_cast<std::size_t>(turn + kWarmUp) + i) % children.size();
      const double step = children[child].Step();
      if (turn >= 0) ms[child].push_back(step);
    }
  }
  const auto against = [&ms](int child, int other) {
    std::vector<double> ratios;
    for (std::size_t turn = 0; turn < ms[child].size(); ++turn) {
      ratios.push_back(ms[child][turn] / ms[other][turn]);
    }
    return Median(std::move(ratios)) - 1;
  };
  const double overhead = against(kTracked, kHeapKept);
  std::printf(
      "ResNet-18, batch %d, %d turns: plain %.2f ms, plain with its heap kept %.2f ms, tracked "
      "%.2f "
      "ms (medians)\n"
      "tracked against plain with its heap kept %+.2f %% (median of the turns' ratios; bar 1 %%), "
      "against plain %+.2f %%; plain against plain %+.2f %%\n",
      static_cast<int>(kBatch), kPairs, Median(ms[kPlain]), Median(ms[kHeapKept]),
      Median(ms[kTracked]), overhead * 100, against(kTracked, kPlain) * 100,
      against(kPlainAgain, kPlain) * 100);
  return overhead < kBar ? 0 : 1;
}

}  // namespace
}  // namespace autobatch

int main() { return autobatch::Main(); }
