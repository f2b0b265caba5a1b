#include "orchestrator/dialect/run_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(CheckRunId_LaunchersDefaults, AreRefused) {
  for (const char* run_id : {"none", "None", "NULL", "default", "(null)", "undefined"}) {
    const absl::Status status = CheckRunId(run_id);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << run_id;
    EXPECT_THAT(std::string(status.message()), HasSubstr("two jobs that have it would join"));
  }
}

TEST(CheckRunId_Names, AreBoundedPlainText) {
  EXPECT_TRUE(CheckRunId("slurm-1234").ok());
  EXPECT_TRUE(CheckRunId("6f1c.A_b:c").ok());
  EXPECT_TRUE(CheckRunId(std::string(kLongestRunId, 'x')).ok());
  EXPECT_FALSE(CheckRunId(std::string(kLongestRunId + 1, 'x')).ok());
  for (const char* run_id : {"", "a b", "a\nb", "a/b", "ä", "$(id)", ".", ".."}) {
    EXPECT_FALSE(CheckRunId(run_id).ok()) << run_id;
  }
}

TEST(ChooseRunId_GivenAndLaunchers, GivenComesFirst) {
  const LauncherFacts slurm{.dialect = Dialect::kSlurm, .run_id = "slurm-7"};
  EXPECT_EQ(*ChooseRunId("mine", slurm), "mine");
  EXPECT_EQ(*ChooseRunId("", slurm), "slurm-7");
  EXPECT_FALSE(ChooseRunId("none", slurm).ok());
  const auto missing = ChooseRunId("", LauncherFacts());
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("give --run-id"));
}

TEST(PortOfRun_NeighbouringRuns, HavePortsOfTheirOwn) {
  std::set<int64_t> ports;
  for (int job = 0; job < 100; ++job) {
    const int64_t port = PortOfRun(absl::StrCat("slurm-", 4000 + job));
    EXPECT_GE(port, 20'000);
    EXPECT_LE(port, 32'767);
    ports.insert(port);
  }
  EXPECT_GT(ports.size(), 95u);
  // Every node of every version has to compute the same.
  EXPECT_EQ(PortOfRun("job1"), PortOfRun("job1"));
  EXPECT_EQ(PortOfRun(""), 20'000 + static_cast<int64_t>(14'695'981'039'346'656'037u % 12'768));
}

}  // namespace
}  // namespace autobatch
