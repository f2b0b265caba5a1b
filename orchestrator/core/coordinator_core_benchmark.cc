// What a round costs the coordinator: the members' messages are made beforehand, everything else
// (decoding, combining, planning, sealing, encoding) is counted.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {
namespace {

constexpr int kDevices = 8;

AgentHello HelloOf(int64_t node) {
  AgentHello hello{.run_id = "r",
                   .agent = absl::StrCat("node-", node),
                   .incarnation = "1",
                   .boot_id = absl::StrCat("boot-", node),
                   .node_rank = node};
  for (int i = 0; i < kDevices; ++i) {
    hello.devices.push_back({.uuid = absl::StrCat("GPU-", node, "-", i), .name = "NVIDIA H100"});
  }
  return hello;
}

Report ReportOf(int64_t node, int64_t round) {
  Report report{.run_id = "r", .round = round};
  for (int i = 0; i < kDevices; ++i) {
    report.devices.push_back({.uuid = absl::StrCat("GPU-", node, "-", i),
                              .address = absl::StrCat("cuda:", i),
                              .name = "NVIDIA H100 80GB HBM3",
                              .total_bytes = 80'000'000'000,
                              .status = ResultStatus::kConfirmed,
                              .batch = 64 + node % 7});
  }
  return report;
}

// A coordinator and the bytes that its agents send.
class Cluster {
 public:
  // `all_sizes`: a row for every world size up to the present one; otherwise for that one only.
  explicit Cluster(int64_t nodes, bool all_sizes = false)
      : nodes_(nodes),
        core_({.run_id = "r", .min_nodes = 1, .max_nodes = nodes}, std::nullopt,
              MakeRecordMaker(Options(all_sizes)), SteadyTime()) {}

  void Join() {
    for (int64_t node = 0; node < nodes_; ++node) {
      Give(coordinator::Connected{node, "10.0.0.1:4000"});
      Receive(node, *EncodeMessage(HelloOf(node)));
    }
  }

  std::vector<Frame> Reports(int64_t round) const {
    std::vector<Frame> frames;
    for (int64_t node = 0; node < nodes_; ++node) {
      frames.push_back(*EncodeMessage(ReportOf(node, round)));
    }
    return frames;
  }

  void Round(const std::vector<Frame>& reports, int64_t first, int64_t round) {
    for (int64_t node = first; node < nodes_; ++node) Receive(node, reports[node]);
    for (int64_t node = first; node < nodes_; ++node) {
      Receive(node, *EncodeMessage(Prepared{.run_id = "r", .round = round, .digest = digest_}));
    }
    for (int64_t node = first; node < nodes_; ++node) {
      Receive(node, *EncodeMessage(Committed{.run_id = "r", .round = round, .digest = digest_}));
    }
  }

  void Lose(int64_t node) { Receive(node, *EncodeMessage(Leave{.run_id = "r", .reason = "x"})); }

  int64_t rounds() const { return rounds_; }
  int64_t record_bytes() const { return record_bytes_; }

 private:
  static RecordOptions Options(bool all_sizes) {
    RecordOptions options;
    if (all_sizes) options.request.min_world_size = 1;
    options.digest = [](absl::string_view text) {
      return absl::StrCat(std::hash<std::string>()(std::string(text)));
    };
    options.created = [] { return "now"; };
    return options;
  }

  void Receive(ConnectionId connection, const Frame& frame) {
    Give(coordinator::Received{connection, DecodeMessage(frame)});
  }

  void Give(const CoordinatorEvent& event) {
    for (const CoordinatorAction& action : core_.Handle(event, SteadyTime())) {
      if (const auto* persist = std::get_if<coordinator::Persist>(&action)) {
        benchmark::DoNotOptimize(ToJson(persist->state));
        Give(coordinator::Persisted{persist->sequence, absl::OkStatus()});
      } else if (const auto* send = std::get_if<coordinator::Send>(&action)) {
        Take(send->frame);
      } else if (const auto* ended = std::get_if<coordinator::RoundEnded>(&action)) {
        rounds_ += ended->committed ? 1 : 0;
      }
    }
  }

  // What is the same for all is read once.
  void Take(const std::shared_ptr<const std::string>& bytes) {
    if (std::exchange(last_, bytes) == bytes) return;
    FrameDecoder decoder(kMemberPayloadLimit);
    absl::string_view rest = *bytes;
    const Message message = DecodeMessage(**decoder.Next(rest)).value();
    const auto* const prepare = std::get_if<Prepare>(&message);
    if (prepare == nullptr) return;
    digest_ = prepare->digest;
    record_bytes_ = static_cast<int64_t>(prepare->record.size());
  }

  const int64_t nodes_;
  CoordinatorCore core_;
  std::shared_ptr<const std::string> last_;
  std::string digest_;
  int64_t rounds_ = 0;
  int64_t record_bytes_ = 0;
};

// One node of a committed cluster leaves: everything up to the last confirmation of the next round.
void BM_ReplanAfterALoss(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Cluster cluster(state.range(0), state.range(1) != 0);
    cluster.Join();
    cluster.Round(cluster.Reports(1), 0, 1);
    const std::vector<Frame> reports = cluster.Reports(2);
    state.ResumeTiming();
    cluster.Lose(0);
    cluster.Round(reports, 1, 2);
    if (cluster.rounds() != 2) state.SkipWithError("no second commit");
    state.counters["record_bytes"] = static_cast<double>(cluster.record_bytes());
  }
}
BENCHMARK(BM_ReplanAfterALoss)
    ->ArgNames({"nodes", "all_sizes"})
    ->ArgsProduct({{8, 64, 256, 1024}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// From the first hello to the last confirmation.
void BM_JoinAndCommit(benchmark::State& state) {
  for (auto _ : state) {
    Cluster cluster(state.range(0));
    cluster.Join();
    cluster.Round(cluster.Reports(1), 0, 1);
    if (cluster.rounds() != 1) state.SkipWithError("no commit");
  }
}
BENCHMARK(BM_JoinAndCommit)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autobatch
