#include "autobatch/report/text.h"

#include <gmock/gmock.h>

#include <random>

namespace autobatch {
namespace {

using ::testing::ElementsAre;

TEST(EscapeControlsTest, ControlCharacters_BecomeVisible) {
  EXPECT_EQ(EscapeControls("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(EscapeControls("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(EscapeControls("\xc2\x9b"
                           "31m"),
            "\\u009b31m");
  EXPECT_EQ(EscapeControls("\u202egpj\u2028"), "\\u202egpj\\u2028");
}

TEST(EscapeControlsTest, ValidUtf8_Stays) {
  EXPECT_EQ(EscapeControls("Grafikkärtchen 樹 🙂"), "Grafikkärtchen 樹 🙂");
}

TEST(EscapeControlsTest, InvalidUtf8_IsShownByteByByte) {
  EXPECT_EQ(EscapeControls("\xff"), "\\xff");
  EXPECT_EQ(EscapeControls("\xc0\x8a"), "\\xc0\\x8a");           // Overlong newline.
  EXPECT_EQ(EscapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // A surrogate.
  EXPECT_EQ(EscapeControls("a\xe6\xa8"), "a\\xe6\\xa8");         // Cut short.
}

TEST(EscapeControlsTest, AnyBytes_LeaveNoControlCharacterAndEscapeNoFurther) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 20, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string escaped = EscapeControls(bytes);
    for (const char c : escaped) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    EXPECT_EQ(EscapeControls(escaped), escaped);
  }
}

TEST(DisplayWidthTest, WideAndCombining_CountAsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("樹"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("🙂"), 2);
}

TEST(ShortenTest, TooLong_EndsInAnEllipsisWithinTheWidth) {
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten("abcdef", 4), "abc…");
  EXPECT_EQ(Shorten("樹樹樹", 4), "樹…");
  EXPECT_EQ(Shorten("abc", 0), "");
}

TEST(PadTest, Text_ReachesItsColumns) {
  EXPECT_EQ(PadRight("樹", 4), "樹  ");
  EXPECT_EQ(PadLeft("7", 3), "  7");
  EXPECT_EQ(PadLeft("long", 3), "long");
}

TEST(WarningTextTest, Warning_CommandsNoTerminal) {
  EXPECT_EQ(WarningText("a \x1b[31mred\nline"), "warning: a \\x1b[31mred\\nline");
}

TEST(WrapTest, Words_StayWhole) {
  EXPECT_THAT(Wrap("aa bb cc", 5), ElementsAre("aa bb", "cc"));
  EXPECT_THAT(Wrap("averylongword b", 5), ElementsAre("averylongword", "b"));
  EXPECT_THAT(Wrap("", 5), ElementsAre());
}

}  // namespace
}  // namespace autobatch
