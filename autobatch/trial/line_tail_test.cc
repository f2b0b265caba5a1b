#include "autobatch/trial/line_tail.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

TEST(LineTailTest, FewLines_AreKeptWhole) {
  LineTail tail(3, 100);
  EXPECT_EQ(tail.Text(), "");
  tail.Append("one\ntw");
  tail.Append("o\n");
  EXPECT_EQ(tail.Text(), "one\ntwo");
}

TEST(LineTailTest, ManyLines_LeaveTheLast) {
  LineTail tail(2, 100);
  for (int i = 0; i < 1000; ++i) tail.Append(absl::StrCat("line ", i, "\n"));
  EXPECT_EQ(tail.Text(), "line 998\nline 999");
  tail.Append("unfinished");
  EXPECT_EQ(tail.Text(), "line 999\nunfinished");
}

TEST(LineTailTest, LongLine_LeavesItsEnd) {
  LineTail tail(2, 10);
  tail.Append(std::string(1 << 20, 'x') + "0123456789");
  EXPECT_EQ(tail.Text(), "0123456789");
  tail.Append("ab\n");
  EXPECT_EQ(tail.Text(), "23456789ab");
}

TEST(LineTailTest, ProgressBar_IsLines) {
  LineTail tail(2, 100);
  tail.Append("10 %\r20 %\r30 %\r\ndone\r\n");
  EXPECT_EQ(tail.Text(), "10 %\n20 %\n30 %\ndone");
}

TEST(LineTailTest, BytesThatAreNoText_BecomeQuestionMarks) {
  LineTail tail(2, 100);
  tail.Append("a\xFF\xC3\xA4\xE2\x82\x1B[0m\xF0\x9F\x98\x80\xC0\x80\xED\xA0\x80");
  EXPECT_EQ(tail.Text(), "a?\xC3\xA4???[0m\xF0\x9F\x98\x80?????");
}

}  // namespace
}  // namespace autobatch
