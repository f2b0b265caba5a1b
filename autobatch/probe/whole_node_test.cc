#include "autobatch/probe/whole_node.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "autobatch/base/units.h"
#include "autobatch/probe/fake_card.h"
#include "autobatch/probe/node_probe.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WholeNodeTest : public testing::Test {
 protected:
  void AddCard(const std::string& uuid, int64_t bytes, FakeWork rank = {}) {
    cards_.push_back(FakeCard(uuid, bytes));
    ranks_.push_back(rank);
  }

  // As the real runner does: one that fails fails all.
  class Runner final : public NodeTrialRunner {
   public:
    explicit Runner(WholeNodeTest& test) : test_(test) {}
    absl::StatusOr<NodeObservation> Run(std::span<const TrialSpec> specs, SteadyTime deadline,
                                        const ProgressFunction& progress) override {
      NodeObservation seen;
      test_.trials_.emplace_back(specs.begin(), specs.end());
      for (size_t i = 0; i < specs.size(); ++i) {
        seen.devices.push_back(RunOnCard(test_.cards_[i], specs[i], test_.ranks_[i]));
        if (!seen.devices[i].ok()) seen.failed = i;
      }
      if (cancelled_) seen.devices[0].failure = Failure{.kind = FailureKind::kCancelled};
      const std::optional<Failure> failure = seen.devices[seen.failed].failure;
      for (Observation& device : seen.devices) device.failure = failure;
      return seen;
    }
    void Cancel() override { cancelled_ = true; }

   private:
    WholeNodeTest& test_;
    bool cancelled_ = false;
  };

  std::vector<DeviceResult> Probe(ProbeSpec spec = {}) {
    spec.scope = TrialScope::kNode;
    spec.workload.kind = WorkloadKind::kCommand;
    spec.workload.evaluation_batch = 0;
    NodeProbeParts parts;
    parts.make_node_runner = [this](const std::vector<Device>&, const WorkloadSpec&) {
      return std::make_unique<Runner>(*this);
    };
    return NodeProbe(spec, cards_, std::move(parts)).Run();
  }

  std::vector<Device> cards_;
  std::vector<FakeWork> ranks_;
  std::vector<std::vector<TrialSpec>> trials_;
};

TEST_F(WholeNodeTest, SmallerCard_SetsTheAnswerOfAll) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 10 * kGiB);
  const std::vector<DeviceResult> results = Probe();
  ASSERT_EQ(results.size(), 2u);
  for (const DeviceResult& result : results) {
    ASSERT_EQ(result.status, ResultStatus::kConfirmed) << result.failure->message;
    EXPECT_EQ(result.confirmed_batch, results[0].confirmed_batch);
    EXPECT_EQ(result.budget_bytes, *result.device.memory.total_bytes - Reserve(result));
    EXPECT_EQ(*result.headroom_bytes, *result.budget_bytes - *result.peak_bytes);
    EXPECT_EQ(result.observations.size(), trials_.size());
  }
  const int64_t best = (*results[1].budget_bytes - kGiB) / (100 * kMiB);
  EXPECT_LE(*results[1].confirmed_batch, best);
  EXPECT_GE(*results[1].confirmed_batch, 0.95 * best - 1);
  EXPECT_EQ(results[1].bound, BatchBound::kMemory);
  EXPECT_EQ(results[0].bound, BatchBound::kOtherDevice);
}

TEST_F(WholeNodeTest, EachDevice_HasItsOwnPeakAndMargins) {
  AddCard("0", 40 * kGiB, {.sample = 200 * kMiB, .outside = 900 * kMiB});
  AddCard("1", 24 * kGiB, {.outside = 300 * kMiB});
  const std::vector<DeviceResult> results = Probe();
  const int64_t batch = *results[0].confirmed_batch;
  EXPECT_EQ(results[0].peak_bytes, kGiB + 200 * kMiB * batch);
  EXPECT_EQ(results[1].peak_bytes, kGiB + 100 * kMiB * batch);
  const auto growth = [](const DeviceResult& result) { return result.margins[0].bytes; };
  EXPECT_EQ(growth(results[0]), 900 * kMiB);
  EXPECT_EQ(growth(results[1]), 300 * kMiB);
  // The larger card is the fuller one: its rank holds twice as much.
  EXPECT_EQ(results[0].bound, BatchBound::kMemory);
  EXPECT_GE(*results[0].headroom_bytes, 0);
  EXPECT_GE(*results[1].headroom_bytes, 0);
}

TEST_F(WholeNodeTest, EveryTrial_IsLimitedOnEachDeviceByItself) {
  AddCard("0", 80 * kGiB);
  AddCard("1", 10 * kGiB);
  Probe({.memory_limit_bytes = 8 * kGiB, .headroom_fraction = 0.1});
  for (const std::vector<TrialSpec>& trial : trials_) {
    ASSERT_EQ(trial.size(), 2u);
    EXPECT_EQ(trial[0].batch, trial[1].batch);
    EXPECT_EQ(*trial[0].limit_bytes, 8 * kGiB - trial[0].reserve_bytes);
    EXPECT_EQ(*trial[1].limit_bytes, 8 * kGiB - trial[1].reserve_bytes);
  }
}

TEST_F(WholeNodeTest, Communicator_IsInWhatIsMeasured) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 24 * kGiB);
  for (const DeviceResult& result : Probe()) {
    EXPECT_EQ(result.margins[1].name, kCommunicator);
    EXPECT_EQ(result.margins[1].bytes, 0);
    EXPECT_EQ(result.margins[1].source, MarginSource::kMeasured);
    EXPECT_THAT(result.margins[1].note, HasSubstr("ranks of this node"));
    EXPECT_EQ(result.margins[2].bytes, 0);
    EXPECT_EQ(result.margins[2].source, MarginSource::kMeasured);
  }
}

TEST_F(WholeNodeTest, RanksOnOtherNodes_KeepTheirCommunicatorsMargin) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 24 * kGiB);
  for (const DeviceResult& result : Probe({.world_size = 16})) {
    EXPECT_EQ(result.margins[1].bytes, kGiB);
  }
  for (const DeviceResult& result : Probe({.communicator_bytes = 7, .world_size = 16})) {
    EXPECT_EQ(result.margins[1].bytes, 7);
  }
}

TEST_F(WholeNodeTest, NothingFits_IsEachDevicesFailureAndTheCulpritStandsOut) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 24 * kGiB, {.floor = 30 * kGiB});
  const std::vector<DeviceResult> results = Probe();
  for (const DeviceResult& result : results) {
    EXPECT_EQ(result.status, ResultStatus::kFailed);
    EXPECT_EQ(result.failure->kind, FailureKind::kOutOfMemory);
    EXPECT_FALSE(result.confirmed_batch.has_value());
  }
  EXPECT_EQ(results[0].bound, BatchBound::kOtherDevice);
  EXPECT_EQ(results[1].bound, BatchBound::kNone);
}

TEST_F(WholeNodeTest, MaximumAsked_IsEveryDevicesBound) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 80 * kGiB);
  for (const DeviceResult& result : Probe({.max_batch = 4})) {
    EXPECT_EQ(result.confirmed_batch, 4);
    EXPECT_EQ(result.bound, BatchBound::kMaxBatch);
  }
}

TEST_F(WholeNodeTest, SearchIsToldTheFullestDevice) {
  AddCard("0", 24 * kGiB);
  AddCard("1", 10 * kGiB);
  Runner runner(*this);
  std::vector<size_t> told;
  auto node = WholeNode::Create({.workload = {.kind = WorkloadKind::kCommand}}, cards_, runner,
                                [&](std::span<const Observation> seen) {
                                  for (const Observation& one : seen)
                                    told.push_back(one.trial.batch);
                                });
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)->narrowest().uuid, "1");
  const auto seen = (*node)->Run({.batch = 8}, SteadyTime::max(), {});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->total_bytes, 10 * kGiB);
  EXPECT_THAT(told, ElementsAre(8, 8));
  (*node)->Cancel();
  EXPECT_EQ((*node)->Run({}, SteadyTime::max(), {})->failure->kind, FailureKind::kCancelled);
}

}  // namespace
}  // namespace autobatch
