#include "autobatch/report/html.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/report/sample_report.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What keeps the page from being well nested: an end tag that does not match, an attribute left
// open, an id used twice. Enough of a parser for a page whose every text is escaped.
std::string Defect(absl::string_view html) {
  const std::set<std::string> empty_elements = {"!DOCTYPE", "meta"};
  std::vector<std::string> open;
  std::set<std::string> ids;
  for (size_t at = html.find('<'); at != absl::string_view::npos; at = html.find('<', at)) {
    const size_t end = html.find('>', at);
    if (end == absl::string_view::npos) return "a tag that does not end";
    absl::string_view tag = html.substr(at + 1, end - at - 1);
    at = end;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return absl::StrCat("quotes in ", tag);
    if (const size_t id = tag.find(" id=\""); id != absl::string_view::npos) {
      const absl::string_view value = tag.substr(id + 5, tag.find('"', id + 5) - id - 5);
      if (!ids.insert(std::string(value)).second) return absl::StrCat("two ids ", value);
    }
    if (absl::EndsWith(tag, "/")) continue;
    if (absl::StartsWith(tag, "/")) {
      if (open.empty() || open.back() != tag.substr(1)) return absl::StrCat("stray ", tag);
      open.pop_back();
      continue;
    }
    const std::string name(tag.substr(0, tag.find_first_of(" \n")));
    if (empty_elements.count(name) == 0) open.push_back(name);
  }
  return open.empty() ? "" : absl::StrCat(open.back(), " is not closed");
}

std::vector<NodeReport> Samples() {
  std::vector<DeviceResult> eight;
  for (int64_t i = 0; i < 8; ++i) eight.push_back(ConfirmedResult(i, 96 + 8 * i));
  eight[3] = FailedResult(3);
  eight[3].observations[0].steady = MemoryPeak{.reserved_bytes = int64_t{1} << 30};
  DeviceResult estimated = ConfirmedResult(0, 500);
  estimated.status = ResultStatus::kEstimated;
  estimated.estimated_batch = std::exchange(estimated.confirmed_batch, std::nullopt);
  estimated.device.simulated = true;
  estimated.observations.pop_back();
  estimated.fit.reset();
  return {ReportOf({ConfirmedResult(0, 96)}),
          ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 64)}),
          ReportOf(eight),
          ReportOf({FailedResult(0)}),
          ReportOf({PartialResult()}),
          ReportOf({estimated}),
          ReportOf({DeviceResult()}),
          NodeReport(),
          HostileReport()};
}

TEST(HtmlReportTest, EverySample_IsWellNestedAndSelfContained) {
  const std::vector<NodeReport> samples = Samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::string html = HtmlReport(samples[i]);
    EXPECT_THAT(Defect(html), IsEmpty()) << "sample " << i;
    for (const char* outside :
         {"http://", "https://", "src=", "<script", "@import", "javascript:"}) {
      EXPECT_THAT(html, Not(HasSubstr(outside))) << "sample " << i;
    }
    EXPECT_THAT(html, Not(HasSubstr("nan")));
    // To be looked at in a browser.
    if (const char* folder = std::getenv("AUTOBATCH_HTML_SAMPLES"); folder != nullptr) {
      std::ofstream(absl::StrCat(folder, "/sample", i, ".html")) << html;
    }
  }
}

TEST(HtmlReportTest, EveryDeviceAndTrial_IsInIt) {
  const NodeReport report = Samples()[2];
  const std::string html = HtmlReport(report);
  size_t points = 0;
  size_t trials = 0;
  for (const DeviceResult& result : report.devices) {
    EXPECT_THAT(html, HasSubstr(result.device.uuid));
    EXPECT_THAT(html, HasSubstr(absl::StrCat("Memory against batch on ", result.device.address)));
    trials += result.observations.size();
  }
  for (size_t at = html.find("class=\"point\""); at != std::string::npos;
       at = html.find("class=\"point\"", at + 1)) {
    ++points;
  }
  EXPECT_EQ(points, trials);
}

TEST(HtmlReportTest, FitBudgetAndAnswer_AreDrawn) {
  const std::string html = HtmlReport(Samples()[0]);
  for (const char* part :
       {"class=\"band\" points", "class=\"fit\" points", "budget 21.00 GiB", "96 confirmed",
        "<b>96</b>", "communicator", "Trials (6)", "tried to allocate 512.0 MiB"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(HtmlReportTest, NoFit_IsSaidAndNotDrawn) {
  const std::string html = HtmlReport(Samples()[4]);
  EXPECT_THAT(html, HasSubstr("no fit"));
  EXPECT_THAT(html, Not(HasSubstr("class=\"fit\" points")));
  EXPECT_THAT(html, HasSubstr("largest confirmed so far (time limit)"));
}

TEST(HtmlReportTest, EstimateAndSimulation_AreMarked) {
  const std::string html = HtmlReport(Samples()[5]);
  EXPECT_THAT(html, HasSubstr("500 estimated"));
  EXPECT_THAT(html, Not(HasSubstr("500 confirmed")));
  EXPECT_THAT(html, HasSubstr(">simulated<"));
}

TEST(HtmlReportTest, NumbersThatAreNone_AreLeftOut) {
  DeviceResult result = ConfirmedResult(0, 96);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  result.step_ms = result.samples_per_second = nan;
  result.fit->slope_bytes_per_sample = infinity;
  result.observations[0].step_ms = nan;
  const std::string html = HtmlReport(ReportOf({result}));
  for (const char* number : {"nan ", "nan,", "nan<", "inf,", "inf<", "inf\""}) {
    EXPECT_THAT(html, Not(HasSubstr(number)));
  }
}

TEST(HtmlReportTest, MarginOfNothing_HasARowButNoStripe) {
  DeviceResult result = ConfirmedResult(0, 96);
  result.margins = {{.name = "spare", .bytes = 0}, {.name = "kept", .bytes = int64_t{1} << 30}};
  const std::string html = HtmlReport(ReportOf({result}));
  EXPECT_THAT(html, HasSubstr("title=\"kept 1.00 GiB\""));
  EXPECT_THAT(html, Not(HasSubstr("title=\"spare")));
  EXPECT_THAT(html, HasSubstr("</span>spare</div>"));
}

TEST(HtmlReportTest, HostileStrings_StayText) {
  const std::string html = HtmlReport(HostileReport());
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\x1b[2J"));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace autobatch
