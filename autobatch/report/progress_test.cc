#include "autobatch/report/progress.h"

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "autobatch/report/sample_report.h"
#include "autobatch/report/text.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TrialLineTest, TrialThatRan_SaysMemoryAndSpeed) {
  const DeviceResult result = ConfirmedResult(0, 96);
  EXPECT_EQ(TrialLine(result.device, result.observations.back()),
            "cuda:0  confirm batch 96: ran, peak 20.79 GiB of 21.00 GiB, 128.0 ms/step, 750.0 "
            "samples/s");
}

TEST(TrialLineTest, TrialThatFailed_SaysWhereAndWhy) {
  const DeviceResult result = ConfirmedResult(0, 96);
  EXPECT_EQ(TrialLine(result.device, result.observations[result.observations.size() - 2]),
            "cuda:0  explore batch 100: out of memory in backward of step 2, peak 20.71 GiB of "
            "21.00 GiB: tried to allocate 512.0 MiB");
}

TEST(TrialLineTest, NothingKnown_PrintsNoNumbers) {
  DeviceResult result = FailedResult(1);
  result.device.simulated = true;
  EXPECT_EQ(TrialLine(result.device, result.observations[0]),
            "cuda:1 (simulated)  explore batch 1: model error in forward of step 1: expected more "
            "than 1 value per channel when training");
}

TEST(TrialLineTest, HostileMessage_StaysOneLine) {
  const DeviceResult result = HostileReport().devices[0];
  for (const Observation& observation : result.observations) {
    EXPECT_THAT(TrialLine(result.device, observation), Not(HasSubstr("\n")));
    EXPECT_THAT(TrialLine(result.device, observation), Not(HasSubstr("\x1b")));
  }
}

// A terminal that knows what LiveLines sends; wrapping is an error, since redraws would then drift.
class Screen {
 public:
  explicit Screen(int width) : width_(width) {}

  void Write(absl::string_view text) {
    while (!text.empty()) {
      if (absl::StartsWith(text, "\x1b[")) {
        const size_t end = text.find_first_of("AJK");
        Control(text[end], std::string(text.substr(2, end - 2)));
        text.remove_prefix(end + 1);
        continue;
      }
      if (text[0] == '\n') {
        EXPECT_LT(DisplayWidth(lines_[row_]), width_) << lines_[row_];
        ++row_, column_ = 0;
        if (row_ == lines_.size()) lines_.emplace_back();
      } else if (text[0] == '\r') {
        column_ = 0;
      } else {
        std::string& line = lines_[row_];
        line.resize(std::max(line.size(), column_ + 1), ' ');
        line[column_++] = text[0];
      }
      text.remove_prefix(1);
    }
  }

  std::string Text() const { return absl::StrJoin(lines_, "\n"); }

 private:
  void Control(char what, const std::string& number) {
    if (what == 'A') row_ -= std::stoul(number);
    if (what == 'K') lines_[row_].resize(std::min(lines_[row_].size(), column_));
    if (what == 'J') {
      lines_[row_].resize(std::min(lines_[row_].size(), column_));
      lines_.resize(row_ + 1);
    }
  }

  const int width_;
  std::vector<std::string> lines_{""};
  size_t row_ = 0;
  size_t column_ = 0;
};

TEST(LiveLinesTest, Updates_RedrawInPlace) {
  Screen screen(60);
  LiveLines live({"cuda:0", "cuda:10"});
  screen.Write(
      live.Update(0, {.batch = 64, .phase = TrialPhase::kBackward, .step = 1, .steps = 3}, 60));
  EXPECT_EQ(screen.Text(), "cuda:0   explore batch 64  step 1/3  backward\ncuda:10  waiting\n");
  screen.Write(live.Update(0, {.batch = 4}, 60));
  screen.Write(live.Finish(1, "batch 96 confirmed", 60));
  EXPECT_EQ(screen.Text(), "cuda:0   explore batch 4\ncuda:10  batch 96 confirmed\n");
}

TEST(LiveLinesTest, PrintedLine_StaysAboveAndClearLeavesOnlyIt) {
  Screen screen(60);
  LiveLines live({"cpu"});
  screen.Write(live.Update(0, {.batch = 1}, 60));
  screen.Write(live.Print("a trial ended", 60));
  EXPECT_EQ(screen.Text(), "a trial ended\ncpu  explore batch 1\n");
  screen.Write(live.Clear());
  EXPECT_EQ(screen.Text(), "a trial ended\n");
  screen.Write(live.Clear());
  EXPECT_EQ(screen.Text(), "a trial ended\n");
  screen.Write(live.Update(0, {.batch = 2}, 60));
  EXPECT_EQ(screen.Text(), "a trial ended\ncpu  explore batch 2\n");
}

TEST(LiveLinesTest, NarrowTerminal_CutsInsteadOfWrapping) {
  Screen screen(20);
  LiveLines live({"cuda:0", "cuda:1"});
  screen.Write(live.Finish(0, "a very long state that no terminal of this width can show", 20));
  screen.Write(live.Finish(1, "done", 20));
  EXPECT_THAT(screen.Text(), HasSubstr("cuda:1  done\n"));
  EXPECT_THAT(screen.Text(), HasSubstr("cuda:0  a very lon…\n"));
}

TEST(LiveLinesTest, HostileState_CannotMoveTheCursor) {
  LiveLines live({std::string(kHostile)});
  EXPECT_THAT(live.Finish(0, kHostile, 400), Not(HasSubstr("\x1b[2J")));
}

}  // namespace
}  // namespace autobatch
