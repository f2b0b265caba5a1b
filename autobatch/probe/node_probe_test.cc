#include "autobatch/probe/node_probe.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "autobatch/base/files.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/fake_card.h"
#include "autobatch/trial/scripted_trial_runner.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// The largest batch that fits beside this reserve.
int64_t TrueMaximum(int64_t total, int64_t reserve) {
  const FakeWork work;
  return (total - reserve - work.floor) / work.sample;
}

class NodeProbeTest : public testing::Test {
 protected:
  // Trials by device; filled by the runners that the probe makes.
  std::map<std::string, std::vector<TrialSpec>> trials_;
  Mutex mutex_;
  std::function<absl::StatusOr<Observation>(const Device&, const TrialSpec&)> run_ =
      [](const Device& device, const TrialSpec& trial) { return RunOnCard(device, trial); };

  NodeProbeParts Parts() {
    NodeProbeParts parts;
    parts.make_runner = [this](const Device& device, const WorkloadSpec&) {
      return std::make_unique<ScriptedTrialRunner>([this, device](const TrialSpec& trial) {
        {
          MutexLock lock(mutex_);
          trials_[device.uuid].push_back(trial);
        }
        return run_(device, trial);
      });
    };
    return parts;
  }
};

TEST_F(NodeProbeTest, UnlikeCards_EachGetItsOwnConfirmedBatch) {
  const std::vector<Device> cards = {FakeCard("a", 24 * kGiB), FakeCard("b", 10 * kGiB)};
  const std::vector<DeviceResult> results = NodeProbe({}, cards, Parts()).Run();
  ASSERT_EQ(results.size(), 2);
  for (const DeviceResult& result : results) {
    ASSERT_EQ(result.status, ResultStatus::kConfirmed) << result.failure->message;
    const int64_t best = TrueMaximum(*result.device.memory.total_bytes, Reserve(result));
    EXPECT_LE(*result.confirmed_batch, best);
    EXPECT_GE(*result.confirmed_batch, 0.95 * best - 1);
    EXPECT_EQ(*result.headroom_bytes, *result.budget_bytes - *result.peak_bytes);
    EXPECT_GE(*result.headroom_bytes, 0);
    EXPECT_EQ(result.bound, BatchBound::kMemory);
  }
}

TEST_F(NodeProbeTest, IdenticalCards_ShareTheSearchButEachRunsTheAnswer) {
  const std::vector<Device> cards = {FakeCard("a", 24 * kGiB), FakeCard("b", 24 * kGiB),
                                     FakeCard("c", 24 * kGiB)};
  const std::vector<DeviceResult> results = NodeProbe({}, cards, Parts()).Run();
  for (const DeviceResult& result : results) {
    EXPECT_EQ(result.confirmed_batch, results[0].confirmed_batch);
  }
  EXPECT_GT(trials_["a"].size(), 1);
  for (const char* follower : {"b", "c"}) {
    ASSERT_EQ(trials_[follower].size(), 1);
    EXPECT_TRUE(trials_[follower][0].fresh_process);
    EXPECT_EQ(trials_[follower][0].batch, *results[0].confirmed_batch);
  }
  EXPECT_EQ(results[1].shared_search_with, "a");
}

TEST_F(NodeProbeTest, CardInUse_SearchesForItself) {
  std::vector<Device> cards = {FakeCard("a", 24 * kGiB), FakeCard("b", 24 * kGiB)};
  cards[1].memory.others.push_back({.pid = 7, .bytes = kGiB});
  EXPECT_EQ(SearchLeaders(cards), (std::vector<size_t>{0, 1}));
  cards[1].memory.others.clear();
  EXPECT_EQ(SearchLeaders(cards), (std::vector<size_t>{0, 0}));
  cards[1].memory.total_bytes.reset();
  EXPECT_EQ(SearchLeaders(cards), (std::vector<size_t>{0, 1}));
}

TEST_F(NodeProbeTest, OneCardFails_TheOtherKeepsItsResult) {
  run_ = [](const Device& device, const TrialSpec& trial) -> absl::StatusOr<Observation> {
    if (device.uuid == "b") {
      Observation seen;
      seen.failure = Failure{.kind = FailureKind::kIllegalAccess, .message = "lost"};
      return seen;
    }
    return RunOnCard(device, trial);
  };
  const std::vector<DeviceResult> results =
      NodeProbe({}, {FakeCard("a", 24 * kGiB), FakeCard("b", 10 * kGiB)}, Parts()).Run();
  EXPECT_EQ(results[0].status, ResultStatus::kConfirmed);
  EXPECT_EQ(results[1].status, ResultStatus::kFailed);
  EXPECT_EQ(results[1].failure->kind, FailureKind::kIllegalAccess);
}

TEST_F(NodeProbeTest, RunnerBreaks_ThatDeviceFailsInWords) {
  run_ = [](const Device&, const TrialSpec&) -> absl::StatusOr<Observation> {
    return absl::ResourceExhaustedError("no descriptors left");
  };
  const std::vector<DeviceResult> results = NodeProbe({}, {FakeCard("a", kGiB)}, Parts()).Run();
  ASSERT_TRUE(results[0].failure.has_value());
  EXPECT_THAT(results[0].failure->message, HasSubstr("no descriptors left"));
}

TEST_F(NodeProbeTest, Cancel_EndsEveryDeviceWithTheReason) {
  NodeProbe* running = nullptr;
  run_ = [&running](const Device& device, const TrialSpec& trial) {
    if (trial.batch > 1) running->Cancel({.kind = FailureKind::kCancelled, .signal = 2});
    return RunOnCard(device, trial);
  };
  NodeProbe probe({}, {FakeCard("a", 24 * kGiB), FakeCard("b", 10 * kGiB)}, Parts());
  running = &probe;
  int told = 0;
  for (const DeviceResult& result : probe.Run()) {
    EXPECT_NE(result.status, ResultStatus::kConfirmed);
    ASSERT_TRUE(result.failure.has_value());
    EXPECT_EQ(result.failure->signal, 2);
    if (result.observations.empty() || result.observations.back().ok()) continue;
    ++told;
    EXPECT_EQ(result.observations.back().failure->kind, FailureKind::kCancelled);
  }
  EXPECT_GE(told, 1) << "the trial that was cut short is told too";
}

// Counts how many of its kind are alive.
class CountedRunner final : public TrialRunner {
 public:
  struct Count {
    Mutex mutex;
    int alive ABSL_GUARDED_BY(mutex) = 0;
    int most ABSL_GUARDED_BY(mutex) = 0;
  };

  CountedRunner(Device device, Count& count) : device_(std::move(device)), count_(count) {
    MutexLock lock(count_.mutex);
    count_.most = std::max(count_.most, ++count_.alive);
  }
  ~CountedRunner() override {
    MutexLock lock(count_.mutex);
    --count_.alive;
  }
  absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime,
                                  const ProgressFunction&) override {
    return RunOnCard(device_, trial);
  }
  void Cancel() override {}

 private:
  const Device device_;
  Count& count_;
};

TEST_F(NodeProbeTest, Parallel_LimitsTheDevicesAtWork) {
  CountedRunner::Count count;
  NodeProbeParts parts = Parts();
  parts.make_runner = [&count](const Device& device, const WorkloadSpec&) {
    return std::make_unique<CountedRunner>(device, count);
  };
  ProbeSpec spec;
  spec.parallel = 1;
  const std::vector<DeviceResult> results =
      NodeProbe(spec,
                {FakeCard("a", 24 * kGiB), FakeCard("b", 10 * kGiB), FakeCard("c", 12 * kGiB)},
                std::move(parts))
          .Run();
  EXPECT_EQ(results.size(), 3);
  MutexLock lock(count.mutex);
  EXPECT_EQ(count.most, 1);
  EXPECT_EQ(count.alive, 0);
}

class NodeProbeCacheTest : public NodeProbeTest {
 protected:
  NodeProbeCacheTest() : cache_(testing::TempDir() + "/node_probe_cache") {
    std::filesystem::remove_all(testing::TempDir() + "/node_probe_cache");
  }

  DeviceResult Probe(int64_t total) {
    trials_.clear();
    NodeProbeParts parts = Parts();
    parts.cache = &cache_;
    return NodeProbe({}, {FakeCard("a", total)}, std::move(parts)).Run()[0];
  }

  ResultCache cache_;
};

TEST_F(NodeProbeCacheTest, SecondProbe_VerifiesTheOldAnswerWithOneTrial) {
  const DeviceResult first = Probe(24 * kGiB);
  EXPECT_FALSE(first.from_cache);
  const DeviceResult second = Probe(24 * kGiB);
  EXPECT_EQ(second.confirmed_batch, first.confirmed_batch);
  EXPECT_TRUE(second.from_cache);
  ASSERT_EQ(trials_["a"].size(), 1);
  EXPECT_TRUE(trials_["a"][0].fresh_process);
}

TEST_F(NodeProbeCacheTest, AnswerThatNoLongerFits_IsSearchedForAgain) {
  const DeviceResult first = Probe(24 * kGiB);
  run_ = [](const Device&, const TrialSpec& trial) {
    return RunOnCard(FakeCard("a", 12 * kGiB), trial);
  };
  const DeviceResult second = Probe(24 * kGiB);
  EXPECT_EQ(second.status, ResultStatus::kConfirmed);
  EXPECT_LT(*second.confirmed_batch, *first.confirmed_batch);
  EXPECT_FALSE(second.from_cache);
}

TEST_F(NodeProbeCacheTest, DamagedEntry_IsReportedAndReplaced) {
  const DeviceResult first = Probe(24 * kGiB);
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::TempDir() + "/node_probe_cache")) {
    ASSERT_TRUE(WriteFileAtomically(entry.path().string(), "{").ok());
  }
  const DeviceResult second = Probe(24 * kGiB);
  EXPECT_EQ(second.confirmed_batch, first.confirmed_batch);
  ASSERT_FALSE(second.warnings.empty());
  EXPECT_THAT(second.warnings[0], HasSubstr("damaged"));
  EXPECT_TRUE(Probe(24 * kGiB).from_cache);
}

TEST_F(NodeProbeCacheTest, FolderThatCannotBeWritten_IsAWarningNotAFailure) {
  cache_ = ResultCache("/proc/nothing");
  const DeviceResult result = Probe(24 * kGiB);
  EXPECT_EQ(result.status, ResultStatus::kConfirmed);
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_THAT(result.warnings.back(), HasSubstr("/proc/nothing"));
}

}  // namespace
}  // namespace autobatch
