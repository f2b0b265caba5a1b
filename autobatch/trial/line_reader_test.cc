#include "autobatch/trial/line_reader.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

// Every whole line of `text`, given in pieces of `size` bytes.
std::vector<std::string> Lines(absl::string_view text, size_t size, size_t max_line = 100) {
  LineReader reader(max_line);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at += size) {
    reader.Append(text.substr(at, size));
    for (auto line = reader.Next(); line.ok() && line->has_value(); line = reader.Next()) {
      lines.push_back(**line);
    }
  }
  return lines;
}

TEST(LineReaderTest, AnyPieces_GiveTheSameLines) {
  const std::string text = "one\n\ntwo words\r\n\tthree \xC3\xA4\nunfinished";
  const std::vector<std::string> expected = {"one", "", "two words\r", "\tthree \xC3\xA4"};
  for (size_t size = 1; size <= text.size(); ++size) EXPECT_EQ(Lines(text, size), expected) << size;
}

TEST(LineReaderTest, RandomPieces_GiveTheSameLines) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    expected.push_back(std::string(random() % 100, 'a' + random() % 26));
    absl::StrAppend(&text, expected.back(), "\n");
  }
  LineReader reader(100);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + random() % 300;
    reader.Append(absl::string_view(text).substr(at, size));
    at += size;
    for (auto line = reader.Next(); line->has_value(); line = reader.Next()) {
      lines.push_back(**line);
    }
  }
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(reader.unfinished_bytes(), 0u);
}

TEST(LineReaderTest, LongestLine_IsTaken) {
  LineReader reader(5);
  reader.Append("12345\n");
  EXPECT_EQ(**reader.Next(), "12345");
}

TEST(LineReaderTest, TooLongLine_IsOutOfRangeForGood) {
  for (const char* text : {"123456", "123456\n"}) {
    LineReader reader(5);
    reader.Append(text);
    EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kOutOfRange);
    reader.Append("\nok\n");
    EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(reader.unfinished_bytes(), 0u);
  }
}

TEST(LineReaderTest, LineBeforeTooLongOne_IsStillGiven) {
  LineReader reader(5);
  reader.Append("good\n123456");
  EXPECT_EQ(**reader.Next(), "good");
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kOutOfRange);
}

TEST(LineReaderTest, BinaryByte_IsInvalidAndNamed) {
  LineReader reader(100);
  reader.Append(absl::string_view("ab\x01\n", 4));
  const auto line = reader.Next();
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(line.status().message()), "byte 0x01, which no line of text has");
}

}  // namespace
}  // namespace autobatch
