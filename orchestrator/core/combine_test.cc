#include "orchestrator/core/combine.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Agents with a node each, and their devices' batches.
struct Reports {
  explicit Reports(std::vector<std::vector<int64_t>> batches) : outcomes(batches.size()) {
    for (size_t i = 0; i < batches.size(); ++i) {
      agents.push_back(absl::StrCat("node-", i));
      for (const int64_t batch : batches[i]) {
        outcomes[i].push_back(
            {.uuid = absl::StrCat("GPU-", i, "-", outcomes[i].size()), .batch = batch});
      }
    }
    for (size_t i = 0; i < batches.size(); ++i) {
      contributions.push_back(
          {.agent = agents[i], .boot_id = agents[i], .claims = &claims, .outcomes = &outcomes[i]});
    }
  }

  LauncherClaims claims;
  std::vector<std::string> agents;
  std::vector<std::vector<DeviceOutcome>> outcomes;
  std::vector<Contribution> contributions;
};

TEST(CombineTest, Minimum_IsOverEveryDeviceAndNamesTheFirstThatHasIt) {
  const Reports reports({{64, 48}, {32, 48}, {32}});
  const Combined combined = Combine(reports.contributions, FailedDevicePolicy::kFail, 3);
  ASSERT_FALSE(combined.failure.has_value()) << combined.failure->reason;
  EXPECT_EQ(combined.facts.minimum_batch, 32);
  EXPECT_EQ(combined.facts.minimum_node, "node-1");
  EXPECT_EQ(combined.facts.minimum_device, "GPU-1-0");
  ASSERT_EQ(combined.facts.members.size(), 3u);
  EXPECT_EQ(combined.facts.members[0].ranks, 2);
  EXPECT_EQ(combined.facts.members[2].devices.size(), 1u);
}

TEST(CombineTest, ZeroBatch_FailsOrIsExcludedByPolicy) {
  Reports reports({{64, 0}, {32}});
  reports.outcomes[0][1].failure = FailureKind::kOutOfMemory;
  Combined combined = Combine(reports.contributions, FailedDevicePolicy::kFail, 2);
  EXPECT_EQ(combined.failure->exit_code, kExitNothingFits);
  EXPECT_THAT(combined.failure->reason, HasSubstr("GPU-0-1 of node-0: out_of_memory"));
  combined = Combine(reports.contributions, FailedDevicePolicy::kExclude, 2);
  ASSERT_FALSE(combined.failure.has_value());
  EXPECT_EQ(combined.facts.members[0].devices.size(), 1u);
  EXPECT_EQ(combined.facts.minimum_batch, 32);
  EXPECT_THAT(combined.excluded, ElementsAre());
  EXPECT_THAT(combined.notes, ElementsAre(HasSubstr("GPU-0-1")));
}

TEST(CombineTest, AgentWithZeroesOnly_IsExcludedAndAllOfThemFail) {
  const Reports one({{0, 0}, {32}});
  const Combined combined = Combine(one.contributions, FailedDevicePolicy::kExclude, 2);
  EXPECT_THAT(combined.excluded, ElementsAre("node-0"));
  EXPECT_EQ(combined.facts.members.size(), 1u);
  const Reports all({{0, 0}, {0}});
  EXPECT_TRUE(Combine(all.contributions, FailedDevicePolicy::kExclude, 2).failure.has_value());
}

TEST(CombineTest, ManyFailures_AreNamedUpToAPoint) {
  const Reports reports({std::vector<int64_t>(100, 0), {1}});
  const Combined combined = Combine(reports.contributions, FailedDevicePolicy::kFail, 2);
  EXPECT_THAT(combined.failure->reason, HasSubstr("and 92 more"));
}

TEST(CombineTest, NobodyWithADevice_Fails) {
  const Reports reports({{}});
  EXPECT_EQ(Combine(reports.contributions, FailedDevicePolicy::kExclude, 1).failure->exit_code,
            kExitNoDevice);
}

TEST(CombineTest, Contradiction_Fails) {
  Reports reports({{8, 8}});
  reports.claims.local_world_size = 3;
  EXPECT_THAT(Combine(reports.contributions, FailedDevicePolicy::kFail, 1).failure->reason,
              HasSubstr("3 processes"));
}

}  // namespace
}  // namespace autobatch
