#include "orchestrator/net/refusal_log.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

SteadyTime At(double seconds) {
  return Add(SteadyTime(std::chrono::hours(1)), absl::Seconds(seconds));
}

class RefusalLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_;
  RefusalLog log_{[this](absl::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(RefusalLogTest, Add_ThousandAtOnce_FewLinesAndACount) {
  for (int i = 0; i < 1000; ++i) log_.Add(Refusal::kSilent, "10.0.0.1:5", "", At(i * 0.001));
  EXPECT_THAT(lines_, SizeIs(RefusalLog::kBurst));
  EXPECT_EQ(log_.count(Refusal::kSilent), 1000);
  log_.Add(Refusal::kSilent, "10.0.0.1:5", "", At(20));
  ASSERT_THAT(lines_, SizeIs(RefusalLog::kBurst + 1));
  EXPECT_THAT(lines_.back(), HasSubstr("997 others"));
}

TEST_F(RefusalLogTest, Add_AnotherKindInAFlood_StillLogged) {
  for (int i = 0; i < 1000; ++i) log_.Add(Refusal::kSilent, "10.0.0.1:5", "", At(0));
  log_.Add(Refusal::kWrongSecret, "10.0.0.2:5", "", At(0));
  EXPECT_THAT(lines_.back(), HasSubstr("10.0.0.2:5: it has another secret"));
}

TEST(RefusalLogEndTest, End_LinesKeptBack_Told) {
  std::vector<std::string> lines;
  {
    RefusalLog log([&lines](absl::string_view line) { lines.emplace_back(line); });
    for (int i = 0; i < 10; ++i) log.Add(Refusal::kSlow, "p", "", At(0));
  }
  ASSERT_THAT(lines, SizeIs(RefusalLog::kBurst + 1));
  EXPECT_THAT(lines.back(), HasSubstr("7 more"));
}

TEST_F(RefusalLogTest, Add_ControlCharacters_OneHarmlessLine) {
  log_.Add(Refusal::kWrongRun, "peer", "run 'x\nE1130 forged line\x1b[31m\r\0'", At(0));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_, Each(Not(HasSubstr("\n"))));
  EXPECT_THAT(lines_, Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(lines_.front(), HasSubstr("\\x0aE1130 forged"));
}

TEST_F(RefusalLogTest, Add_EveryKind_WordsOfItsOwn) {
  for (size_t kind = 0; kind < kRefusals; ++kind) {
    log_.Add(static_cast<Refusal>(kind), "peer", "", At(0));
  }
  std::sort(lines_.begin(), lines_.end());
  EXPECT_EQ(std::unique(lines_.begin(), lines_.end()), lines_.end());
  EXPECT_THAT(lines_, SizeIs(kRefusals));
}

TEST(EscapeForLogTest, LongText_Cut) {
  EXPECT_EQ(EscapeForLog(std::string(201, 'x')), std::string(200, 'x') + "...");
}

}  // namespace
}  // namespace autobatch
