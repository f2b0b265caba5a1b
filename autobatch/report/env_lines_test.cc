#include "autobatch/report/env_lines.h"

#include <gmock/gmock.h>

#include "absl/strings/str_split.h"
#include "autobatch/report/sample_report.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EnvLinesTest, TwoGpus_AreAllNamed) {
  const auto lines = EnvLines(ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 64)}));
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_EQ(*lines,
            "AUTOBATCH_MICRO_BATCH=64\n"
            "AUTOBATCH_ACCUMULATION=1\n"
            "AUTOBATCH_WORLD_SIZE=2\n"
            "AUTOBATCH_GLOBAL_BATCH=128\n"
            "AUTOBATCH_STATUS=confirmed\n"
            "AUTOBATCH_BATCH_0=96\n"
            "AUTOBATCH_DEVICE_0=GPU-5a09c2f1-0000-4000-8000-000000000000\n"
            "AUTOBATCH_BATCH_1=64\n"
            "AUTOBATCH_DEVICE_1=GPU-5a09c2f1-0000-4000-8000-000000000001\n");
}

TEST(EnvLinesTest, WorldSizeOfTheJob_CountsAndNotTheDevicesHere) {
  NodeReport report = ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 64)});
  report.world_size = 8;
  const auto lines = EnvLines(report);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_WORLD_SIZE=8\nAUTOBATCH_GLOBAL_BATCH=512\n"));
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_BATCH_1=64\n"));
}

TEST(EnvLinesTest, Accumulation_CountsInTheGlobalBatch) {
  NodeReport report = ReportOf({ConfirmedResult(0, 64)});
  report.accumulation = 3;
  const auto lines = EnvLines(report);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_ACCUMULATION=3\n"));
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_GLOBAL_BATCH=192\n"));
}

TEST(EnvLinesTest, LeastCertainDevice_SetsTheStatus) {
  DeviceResult estimated = ConfirmedResult(0, 96);
  estimated.status = ResultStatus::kEstimated;
  estimated.device.simulated = true;
  const auto lines = EnvLines(ReportOf({estimated, PartialResult()}));
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_STATUS=estimated\n"));
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_SIMULATED=1\n"));
}

TEST(EnvLinesTest, DeviceWithoutABatch_PrintsNothingAndSaysWhy) {
  const auto lines = EnvLines(ReportOf({ConfirmedResult(0, 96), FailedResult(1)}));
  EXPECT_EQ(lines.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(lines.status().message()), HasSubstr("cuda:1"));
  EXPECT_THAT(std::string(lines.status().message()), HasSubstr("model error"));
  NodeReport inconsistent = ReportOf({ConfirmedResult(0, 96), FailedResult(1)});
  inconsistent.minimum_batch = 96;
  EXPECT_EQ(EnvLines(inconsistent).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(EnvLines(NodeReport()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EnvLinesTest, HostileUuid_IsOneQuotedWord) {
  const auto lines = EnvLines(HostileReport());
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, HasSubstr("AUTOBATCH_DEVICE_0='"));
  EXPECT_THAT(*lines, Not(HasSubstr("\nAUTOBATCH_MICRO_BATCH=9")));
}

TEST(ShellQuoteTest, Anything_IsOneWord) {
  EXPECT_EQ(ShellQuote("GPU-1_a"), "GPU-1_a");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("$(rm -rf ~)"), "'$(rm -rf ~)'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace autobatch
