#include "orchestrator/core/version_rule.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

TEST(VersionRuleTest, Table) {
  const struct {
    const char* ours;
    const char* theirs;
    absl::StatusCode verdict;
  } kCases[] = {
      {"0.1.0", "0.1.0", absl::StatusCode::kOk},
      {"0.1.0", "0.1.7", absl::StatusCode::kOk},
      {"0.1.0", "0.1.0-rc1", absl::StatusCode::kOk},
      {"0.1.0", "0.2.0", absl::StatusCode::kFailedPrecondition},
      {"0.1.0", "1.1.0", absl::StatusCode::kFailedPrecondition},
      {"1.1.0", "1.9.3", absl::StatusCode::kOk},
      {"1.1.0", "2.1.0", absl::StatusCode::kFailedPrecondition},
      {"1.1.0", "1.1", absl::StatusCode::kInvalidArgument},
      {"1.1.0", "", absl::StatusCode::kInvalidArgument},
      {"1.1.0", "one.two.three", absl::StatusCode::kInvalidArgument},
      {"1.1.0", "-1.1.0", absl::StatusCode::kInvalidArgument},
      {"1.1.0", "99999999999999999999.1.0", absl::StatusCode::kInvalidArgument},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(CheckVersion(c.ours, c.theirs).code(), c.verdict) << c.ours << " " << c.theirs;
  }
}

TEST(VersionRuleTest, Refusal_NamesBoth) {
  EXPECT_THAT(CheckVersion("0.1.0", "0.2.3").message(),
              testing::AllOf(testing::HasSubstr("0.1.0"), testing::HasSubstr("0.2.3")));
}

}  // namespace
}  // namespace autobatch
