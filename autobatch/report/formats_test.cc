// house(test): what holds for every format at once.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "autobatch/report/env_lines.h"
#include "autobatch/report/html.h"
#include "autobatch/report/sample_report.h"
#include "autobatch/report/table.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(FormatsTest, AnyReport_NamesEveryDeviceInEveryFormat) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<DeviceResult> devices;
    bool all_have_one = true;
    const int64_t count = 1 + random() % 9;
    for (int64_t i = 0; i < count; ++i) {
      const bool fails = random() % 6 == 0;
      devices.push_back(fails ? FailedResult(i) : ConfirmedResult(i, 1 + random() % 4096));
      devices.back().device.simulated = random() % 2 == 0;
      all_have_one = all_have_one && !fails;
    }
    const NodeReport report = ReportOf(devices);
    const std::string table = ResultTable(report, 80 + random() % 60);
    const std::string html = HtmlReport(report);
    const std::string json = ToPrettyJson(report);
    const absl::StatusOr<std::string> lines = EnvLines(report);
    EXPECT_EQ(lines.ok(), all_have_one) << lines.status();
    for (const DeviceResult& result : devices) {
      EXPECT_THAT(table, HasSubstr(absl::StrCat(result.device.address, " ")));
      EXPECT_THAT(html, HasSubstr(result.device.uuid));
      EXPECT_THAT(json, HasSubstr(result.device.uuid));
      if (lines.ok()) EXPECT_THAT(*lines, HasSubstr(result.device.uuid));
      if (!result.device.simulated) continue;
      EXPECT_THAT(table, HasSubstr(absl::StrCat(result.device.address, ": simulated")));
    }
    const auto back = FromJson<NodeReport>(json);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->minimum_batch, report.minimum_batch);
    EXPECT_EQ(back->devices.size(), devices.size());
    // For a JSON Schema validator.
    if (const char* folder = std::getenv("AUTOBATCH_JSON_SAMPLES"); folder != nullptr) {
      std::ofstream(absl::StrCat(folder, "/report", round, ".json")) << json;
    }
  }
}

}  // namespace
}  // namespace autobatch
