#include "orchestrator/service/cached_prober.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "autobatch/base/files.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/fake_card.h"
#include "autobatch/trial/scripted_trial_runner.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class CachedProberTest : public testing::Test {
 protected:
  CachedProberTest()
      : folder_(testing::TempDir() + "/cached_prober_test_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        cache_(folder_) {
    std::filesystem::remove_all(folder_);
    // Debian's Abseil, which ThreadSanitizer does not see into, fills a table at its first use.
    absl::ErrnoToStatus(ENOENT, "").IgnoreError();
    options_.devices = {FakeCard("a", 24 * kGiB), FakeCard("b", 40 * kGiB)};
    options_.spec.world_size = 4;
    options_.parts.cache = &cache_;
    options_.parts.driver_version = "580.1";
    options_.parts.make_runner = [this](const Device& device, const WorkloadSpec&) {
      return std::make_unique<ScriptedTrialRunner>([this, device](const TrialSpec& trial) {
        MutexLock lock(mutex_);
        trials_[device.uuid].push_back(trial);
        if (broken_ == device.uuid) {
          Observation seen;
          seen.failure = Failure{.kind = FailureKind::kCrashed, .message = "signal 11"};
          return absl::StatusOr<Observation>(seen);
        }
        return absl::StatusOr<Observation>(RunOnCard(device, trial));
      });
    };
  }

  // The trials that a probe runs.
  std::map<std::string, std::vector<TrialSpec>> TrialsOf(const std::function<void()>& probe) {
    trials_.clear();
    probe();
    return trials_;
  }

  const std::string folder_;
  const ResultCache cache_;
  CachedProberOptions options_;
  std::string broken_;
  Mutex mutex_;
  std::map<std::string, std::vector<TrialSpec>> trials_;
};

TEST_F(CachedProberTest, SecondRound_AnswersWithoutATrial) {
  options_.parts.cache = nullptr;
  CachedProber prober(options_);
  const ProbeAnswer first = prober.Probe(std::nullopt);
  ASSERT_THAT(first.devices, SizeIs(2));
  EXPECT_GT(first.devices[0].batch, 0);
  EXPECT_GT(first.devices[1].batch, first.devices[0].batch);
  ProbeAnswer second;
  EXPECT_THAT(TrialsOf([&] { second = prober.Probe(std::nullopt); }), IsEmpty());
  EXPECT_EQ(second.devices[0].batch, first.devices[0].batch);
  EXPECT_THAT(second.summary, HasSubstr("2 from an earlier answer"));
}

TEST_F(CachedProberTest, AlwaysVerify_RunsOneTrialADevice) {
  options_.verify = VerifyPolicy::kAlways;
  CachedProber prober(options_);
  const ProbeAnswer first = prober.Probe(std::nullopt);
  ProbeAnswer second;
  const auto trials = TrialsOf([&] { second = prober.Probe(std::nullopt); });
  EXPECT_THAT(trials.at("a"), SizeIs(1));
  EXPECT_THAT(trials.at("b"), SizeIs(1));
  EXPECT_EQ(second.devices[0].batch, first.devices[0].batch);
}

TEST_F(CachedProberTest, NextAgent_BelievesTheCacheAsLongAsNothingChanged) {
  const ProbeAnswer first = CachedProber(options_).Probe(std::nullopt);
  ProbeAnswer second;
  EXPECT_THAT(TrialsOf([&] { second = CachedProber(options_).Probe(std::nullopt); }), IsEmpty());
  EXPECT_EQ(second.devices[1].batch, first.devices[1].batch);
  EXPECT_EQ(second.communicator_bytes, first.communicator_bytes);
  options_.parts.driver_version = "581.0";
  EXPECT_THAT(TrialsOf([&] { CachedProber(options_).Probe(std::nullopt); }), SizeIs(2));
}

TEST_F(CachedProberTest, NeverVerify_FailsWithoutAnEarlierAnswer) {
  options_.verify = VerifyPolicy::kNever;
  ProbeAnswer answer;
  EXPECT_THAT(TrialsOf([&] { answer = CachedProber(options_).Probe(std::nullopt); }), IsEmpty());
  EXPECT_EQ(answer.devices[0].batch, 0);
  EXPECT_THAT(answer.devices[0].message, HasSubstr("--verify never"));
}

TEST_F(CachedProberTest, LargerCommunicator_ConfirmsOnceMoreUnderIt) {
  CachedProber prober(options_);
  const ProbeAnswer first = prober.Probe(std::nullopt);
  ASSERT_EQ(first.communicator_bytes, kGiB);
  ProbeAnswer second;
  auto trials = TrialsOf([&] { second = prober.Probe(3 * kGiB); });
  EXPECT_LT(second.devices[0].batch, first.devices[0].batch);
  EXPECT_EQ(second.communicator_bytes, 3 * kGiB);
  EXPECT_THAT(trials, SizeIs(2));
  // What held under the larger margin holds.
  EXPECT_THAT(TrialsOf([&] { prober.Probe(2 * kGiB); }), IsEmpty());
}

TEST_F(CachedProberTest, FailedDevice_IsNamedAndTriedAgainAlone) {
  broken_ = "a";
  CachedProber prober(options_);
  const ProbeAnswer first = prober.Probe(std::nullopt);
  EXPECT_EQ(first.devices[0].batch, 0);
  EXPECT_EQ(first.devices[0].failure, FailureKind::kCrashed);
  EXPECT_GT(first.devices[1].batch, 0);
  EXPECT_THAT(first.summary, HasSubstr("1 without a batch"));
  broken_.clear();
  ProbeAnswer second;
  const auto trials = TrialsOf([&] { second = prober.Probe(std::nullopt); });
  EXPECT_FALSE(trials.contains("b"));
  EXPECT_GT(second.devices[0].batch, 0);
  EXPECT_EQ(second.devices[1].batch, first.devices[1].batch);
}

TEST_F(CachedProberTest, ObserverOfASecondRound_CountsAllDevices) {
  class Counter final : public ProbeObserver {
   public:
    void OnProgress(size_t, const TrialSpec&, const Reply&) override {}
    void OnTrial(size_t, const Observation&) override {}
    void OnDevice(size_t device, const DeviceResult& result) override {
      seen[device] = result.device.uuid;
    }
    std::map<size_t, std::string> seen;
  } counter;
  options_.parts.observer = &counter;
  broken_ = "b";
  CachedProber prober(options_);
  prober.Probe(std::nullopt);
  counter.seen.clear();
  prober.Probe(std::nullopt);
  EXPECT_THAT(counter.seen, ElementsAre(Pair(1, "b")));
}

TEST_F(CachedProberTest, CancelledProbe_SaysWhy) {
  CachedProber prober(options_);
  prober.Cancel("ended by signal 15");
  const ProbeAnswer answer = prober.Probe(std::nullopt);
  EXPECT_EQ(answer.devices[0].batch, 0);
  EXPECT_THAT(answer.devices[0].message, HasSubstr("signal 15"));
}

TEST_F(CachedProberTest, JobThatStillHoldsTheDevice_IsWaitedForAndNamed) {
  int reads = 0;
  std::vector<std::string> said;
  options_.devices.resize(1);
  options_.read_memory = [&reads](absl::string_view) {
    MemoryInfo now;
    if (++reads < 3) now.others = {{.pid = 4711, .bytes = kGiB, .name = "python"}};
    return absl::StatusOr<MemoryInfo>(now);
  };
  options_.say = [&said](absl::string_view text) { said.emplace_back(text); };
  CachedProber(options_).Probe(std::nullopt);
  EXPECT_EQ(reads, 3);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0], HasSubstr("pid 4711 (python) with 1.00 GiB"));
}

TEST_F(CachedProberTest, HolderThatNeverEnds_IsNamedAndTheProbeGoesOn) {
  std::vector<std::string> said;
  options_.devices.resize(1);
  options_.release_timeout = absl::Milliseconds(1);
  options_.read_memory = [](absl::string_view) {
    return absl::StatusOr<MemoryInfo>(MemoryInfo{.others = {{.pid = 4711}}});
  };
  options_.say = [&said](absl::string_view text) { said.emplace_back(text); };
  EXPECT_GT(CachedProber(options_).Probe(std::nullopt).devices[0].batch, 0);
  EXPECT_THAT(said.back(), HasSubstr("probed with what is left"));
}

}  // namespace
}  // namespace autobatch
