// What one lost node of NODES costs the coordinator's core, without sockets: the CPU time from the
// beat that gives it up until the commit of the next round is out, alone and with the reading of
// what the others say meanwhile. Milliseconds, the median of several runs.
//
//   replan NODES

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/wire/messages.h"
#include "orchestrator/wire/whole_message.h"
#include "tests/benchmarks/cluster_run.h"

namespace autobatch {
namespace {

constexpr int kRuns = 9;

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double core = 0;
  double reading = 0;
};

// A coordinator whose agents answer at once and whose disk is quick.
class Cluster {
 public:
  explicit Cluster(int64_t nodes)
      : core_({.run_id = kBenchmarkRun, .min_nodes = nodes - 1, .max_nodes = nodes}, std::nullopt,
              MakeRecordMaker({.digest = MakeSeal(BenchmarkCredentials()).value(),
                               .created = [] { return "now"; }}),
              now_) {
    for (int64_t node = 0; node < nodes; ++node) {
      alive_.push_back(node);
      Give(coordinator::Connected{.connection = node, .address = "127.0.0.1:1"});
      Say(node, BenchmarkHello(node));
    }
    FinishRound();
  }

  // The last node dies; the round that follows is committed.
  Cost Lose() {
    Give(coordinator::Disconnected{.connection = alive_.back(), .why = "reset"});
    alive_.pop_back();
    while (collected_ == 0) {
      for (const int64_t node : alive_) {
        Say(node, Heartbeat{.sequence = ++sequence_});
      }
      cost_ = {};  // Until the beat that gives it up.
      now_ = std::max(now_, *core_.NextWake());
      Give(coordinator::Woke{});
    }
    FinishRound();
    return cost_;
  }

 private:
  void FinishRound() {
    Answer(collected_, [](int64_t node) { return Report{.devices = BenchmarkOutcomes(node)}; });
    Answer(prepared_, [this](int64_t) { return Prepared{.digest = digest_}; });
    if (committed_ == 0) std::abort();
    // What comes after the commit's frames is not waited for by anybody.
    const Cost until_commit = cost_;
    Answer(committed_, [this](int64_t) { return Committed{.digest = digest_}; });
    cost_ = until_commit;
  }

  // Everybody answers what was sent to so many.
  template <typename Make>
  void Answer(int64_t& asked, Make make) {
    if (std::exchange(asked, 0) != static_cast<int64_t>(alive_.size())) std::abort();
    for (const int64_t node : alive_) Say(node, make(node));
  }

  template <typename T>
  void Say(int64_t node, T message) {
    message.run_id = kBenchmarkRun;
    if constexpr (!std::is_same_v<T, AgentHello>) message.round = round_;
    const Frame frame = EncodeMessage(std::move(message)).value();
    const double begun = CpuMilliseconds();
    absl::StatusOr<Message> read = DecodeMessage(frame);
    cost_.reading += CpuMilliseconds() - begun;
    Give(coordinator::Received{.connection = node, .message = std::move(read)});
  }

  void Give(const CoordinatorEvent& event) {
    const double begun = CpuMilliseconds();
    std::vector<CoordinatorAction> actions = core_.Handle(event, now_);
    cost_.core += CpuMilliseconds() - begun;
    for (const CoordinatorAction& action : actions) {
      if (const auto* persist = std::get_if<coordinator::Persist>(&action)) {
        round_ = persist->state.round;
        Give(coordinator::Persisted{.sequence = persist->sequence});
      } else if (const auto* send = std::get_if<coordinator::Send>(&action)) {
        Take(*send);
      }
    }
  }

  // Frames for many are one string: it is read once.
  void Take(const coordinator::Send& send) {
    if (send.frame != frame_) {
      frame_ = send.frame;
      said_ = WholeMessage(*frame_).value();
    }
    if (std::holds_alternative<Collect>(said_)) ++collected_;
    if (const auto* prepare = std::get_if<Prepare>(&said_); prepare != nullptr) {
      digest_ = prepare->digest;
      ++prepared_;
    }
    if (std::holds_alternative<Commit>(said_)) ++committed_;
  }

  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  CoordinatorCore core_;
  std::vector<int64_t> alive_;
  int64_t round_ = 0;
  int64_t sequence_ = 0;
  std::string digest_;
  std::shared_ptr<const std::string> frame_;
  Message said_;
  int64_t collected_ = 0;
  int64_t prepared_ = 0;
  int64_t committed_ = 0;
  Cost cost_;
};

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  int64_t nodes = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &nodes) || nodes < 2) return 2;
  std::vector<autobatch::Cost> costs;
  for (int run = 0; run < autobatch::kRuns; ++run) {
    costs.push_back(autobatch::Cluster(nodes).Lose());
  }
  std::ranges::sort(costs, {}, &autobatch::Cost::core);
  const autobatch::Cost& median = costs[costs.size() / 2];
  std::printf("core %.3f\nreading %.3f\n", median.core, median.reading);
}
