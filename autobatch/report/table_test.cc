#include "autobatch/report/table.h"

#include <gmock/gmock.h>

#include <utility>

#include "absl/strings/str_split.h"
#include "autobatch/report/golden.h"
#include "autobatch/report/sample_report.h"
#include "autobatch/report/text.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ResultTableTest, UnlikeGpus_AreAsInTheGoldenFile) {
  ExpectGolden("table_two.txt",
               ResultTable(ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 64)})));
}

TEST(ResultTableTest, FailedDevice_IsAsInTheGoldenFile) {
  ExpectGolden("table_failed.txt",
               ResultTable(ReportOf({ConfirmedResult(0, 96), FailedResult(1)})));
}

TEST(ResultTableTest, PartialCpu_IsAsInTheGoldenFile) {
  ExpectGolden("table_partial.txt", ResultTable(ReportOf({PartialResult()}), 80));
}

TEST(ResultTableTest, EstimateAndSimulation_AreMarked) {
  DeviceResult result = ConfirmedResult(0, 96);
  result.status = ResultStatus::kEstimated;
  result.estimated_batch = std::exchange(result.confirmed_batch, std::nullopt);
  result.device.simulated = true;
  const std::string table = ResultTable(ReportOf({result}));
  EXPECT_THAT(table, HasSubstr("96*"));
  EXPECT_THAT(table, HasSubstr("* estimated, not run"));
  EXPECT_THAT(table, HasSubstr("cuda:0: simulated"));
  EXPECT_THAT(table, HasSubstr("Estimated, not run: batch per GPU 96"));
  EXPECT_THAT(table, Not(HasSubstr("Safe")));
}

TEST(ResultTableTest, EqualGpus_BlameNone) {
  const std::string table = ResultTable(ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 96)}));
  EXPECT_THAT(table, HasSubstr("global batch 96 × 2 devices = 192."));
  EXPECT_THAT(table, HasSubstr("All devices agree."));
  EXPECT_THAT(table, Not(HasSubstr("Without it")));
}

TEST(ResultTableTest, NoDevice_SaysSo) {
  EXPECT_EQ(ResultTable(NodeReport()), "No device was probed.\n");
}

TEST(ResultTableTest, Warnings_AreTold) {
  NodeReport report = ReportOf({ConfirmedResult(0, 96)});
  report.warnings = {"a remainder of 1 sample in the last batch"};
  EXPECT_THAT(ResultTable(report), HasSubstr("warning: a remainder of 1 sample"));
}

TEST(ResultTableTest, FrameworkOfACommand_IsNamedOrNotKnown) {
  NodeReport report = ReportOf({ConfirmedResult(0, 96)});
  report.host.command_framework = "PyTorch 2.13.0 in /v\x1b/torch";
  EXPECT_THAT(ResultTable(report), Not(HasSubstr("its framework")));
  report.workload = {.kind = WorkloadKind::kCommand, .command = {"python", "train.py"}};
  EXPECT_THAT(ResultTable(report), HasSubstr("its framework: PyTorch 2.13.0 in /v\\x1b/torch\n"));
  report.host.command_framework.reset();
  EXPECT_THAT(ResultTable(report), HasSubstr("its framework: not known: "));
}

TEST(WarningLinesTest, WarningOfADevice_NamesIt) {
  NodeReport report = ReportOf({ConfirmedResult(0, 96)});
  EXPECT_EQ(WarningLines(report), "");
  report.warnings = {"no driver"};
  report.devices.front().warnings = {"left \x1b[2J"};
  EXPECT_EQ(WarningLines(report), "warning: no driver\ncuda:0: warning: left \\x1b[2J\n");
}

TEST(ResultTableTest, EveryWidth_IsKept) {
  std::vector<DeviceResult> devices;
  for (int64_t i = 0; i < 8; ++i) devices.push_back(ConfirmedResult(i, 96 + i));
  devices[3].device.name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition 樹樹樹";
  devices[4].warnings = {std::string(300, 'w') + " and a word"};
  devices[5] = FailedResult(5);
  devices[5].failure->stderr_tail = std::string(500, 'x');
  devices[4].warnings.clear();
  const NodeReport report = ReportOf(devices);
  for (int width = 80; width <= 140; width += 5) {
    const std::string table = ResultTable(report, width);
    for (const absl::string_view line : absl::StrSplit(table, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
    for (const DeviceResult& result : devices) {
      EXPECT_THAT(table, HasSubstr("\n" + result.device.address));
    }
  }
}

TEST(ResultTableTest, HostileStrings_AddNoLine) {
  const std::string table = ResultTable(HostileReport());
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_THAT(table, Not(HasSubstr("\r")));
  EXPECT_THAT(table, Not(HasSubstr("\nAUTOBATCH")));
}

TEST(ResultTableTest, LongReasonOfAMargin_IsWrappedAndNoneIsLost) {
  NodeReport report;
  DeviceResult& result = report.devices.emplace_back();
  result.device.address = "cuda:0";
  result.budget_bytes = 1 << 30;
  std::string reason = "because";
  for (int i = 0; i < 20; ++i) reason += " of everything";
  result.margins = {{.name = "headroom", .bytes = 1 << 20, .note = reason + " and the end"},
                    {.name = "silent", .bytes = 1 << 20}};
  const std::string table = ResultTable(report, 80);
  EXPECT_THAT(table, HasSubstr("and the end"));
  EXPECT_THAT(table, HasSubstr("silent"));
  EXPECT_THAT(table, Not(HasSubstr("…")));
}

}  // namespace
}  // namespace autobatch
