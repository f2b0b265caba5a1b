#include "orchestrator/wire/frame.h"

#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::string Encoded(const Frame& frame) { return EncodeFrame(frame).value(); }

// A header as a stranger might send it.
std::string Header(uint32_t magic, uint16_t version, uint16_t type, uint32_t length,
                   uint32_t reserved = 0) {
  std::string bytes;
  const auto append = [&bytes](uint32_t value, int size) {
    for (int i = size - 1; i >= 0; --i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  };
  append(magic, 4), append(version, 2), append(type, 2), append(length, 4), append(reserved, 4);
  return bytes;
}

// Every frame of `pieces`, fed one after the other; or the first error.
absl::StatusOr<std::vector<Frame>> Decode(FrameDecoder& decoder,
                                          const std::vector<absl::string_view>& pieces) {
  std::vector<Frame> frames;
  for (absl::string_view piece : pieces) {
    while (!piece.empty()) {
      absl::StatusOr<std::optional<Frame>> next = decoder.Next(piece);
      if (!next.ok()) return next.status();
      if (next->has_value()) frames.push_back(**std::move(next));
    }
  }
  return frames;
}

absl::Status DecodeStatus(const std::string& bytes) {
  FrameDecoder decoder;
  return Decode(decoder, {bytes}).status();
}

TEST(FrameTest, Encode_KnownFrame_BytesOfTheProtocol) {
  EXPECT_EQ(Encoded({.type = 0x0102, .payload = "xy"}),
            absl::string_view("\xAB\x41\x42\x46\0\1\1\2\0\0\0\2\0\0\0\0xy", 18));
}

TEST(FrameTest, Encode_PayloadOverTheLimit_ResourceExhausted) {
  EXPECT_TRUE(EncodeFrame({.payload = std::string(kMemberPayloadLimit, 'x')}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      EncodeFrame({.payload = std::string(kMemberPayloadLimit + 1, 'x')}).status()));
}

TEST(FrameTest, Decode_SplitAtEveryByte_SameFrames) {
  const std::vector<Frame> sent = {
      {.type = 1, .payload = "hello"}, {.type = 65535, .payload = ""}, {.type = 2, .payload = "x"}};
  std::string stream;
  for (const Frame& frame : sent) stream += Encoded(frame);
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second = first; second <= stream.size(); ++second) {
      const absl::string_view all = stream;
      FrameDecoder decoder;
      const auto frames = Decode(
          decoder, {all.substr(0, first), all.substr(first, second - first), all.substr(second)});
      ASSERT_TRUE(frames.ok()) << frames.status();
      ASSERT_EQ(*frames, sent) << "split at " << first << " and " << second;
      ASSERT_TRUE(decoder.AtBoundary());
    }
  }
}

TEST(FrameTest, Decode_RandomFramesInRandomPieces_SameFrames) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int run = 0; run < 200; ++run) {
    std::vector<Frame> sent;
    std::string stream;
    for (unsigned count = random() % 8; count > 0; --count) {
      std::string payload(random() % 3 == 0 ? random() % kStrangerPayloadLimit : random() % 64,
                          '\0');
      for (char& byte : payload) byte = static_cast<char>(random());
      sent.push_back({.type = static_cast<uint16_t>(random()),
                      .payload = payload,
                      .version = static_cast<uint16_t>(random())});
      stream += Encoded(sent.back());
    }
    std::vector<absl::string_view> pieces;
    for (absl::string_view rest = stream; !rest.empty();) {
      pieces.push_back(rest.substr(0, 1 + random() % 3000));
      rest.remove_prefix(pieces.back().size());
    }
    FrameDecoder decoder;
    const auto frames = Decode(decoder, pieces);
    ASSERT_TRUE(frames.ok()) << frames.status();
    ASSERT_TRUE(*frames == sent) << sent.size() << " frames";
  }
}

TEST(FrameTest, Decode_LengthUpToTheLimit_TakenAndBeyondIt_ResourceExhausted) {
  for (uint32_t length : {0u, 1u, kStrangerPayloadLimit}) {
    const Frame frame{.type = 3, .payload = std::string(length, 'x')};
    EXPECT_TRUE(DecodeStatus(Encoded(frame)).ok()) << length;
  }
  for (uint32_t length :
       {kStrangerPayloadLimit + 1, kMemberPayloadLimit, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    const absl::Status status = DecodeStatus(Header(kFrameMagic, 1, 1, length));
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << length << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(length)));
  }
}

TEST(FrameTest, Decode_LimitRaised_AppliesToTheNextHeader) {
  const std::string large = Encoded({.type = 1, .payload = std::string(kMemberPayloadLimit, 'x')});
  FrameDecoder decoder;
  EXPECT_TRUE(Decode(decoder, {Encoded({.type = 1})}).ok());
  decoder.set_payload_limit(kMemberPayloadLimit);
  EXPECT_TRUE(Decode(decoder, {large}).ok());
}

TEST(FrameTest, Decode_OtherProtocols_InvalidArgumentThatSaysWhat) {
  using std::string_literals::operator""s;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"},
      {"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\0\0\0\0\0"s, "TLS"},
      {std::string(64, '\0'), "an unknown protocol"},
      {std::string(64, '\xff'), "an unknown protocol"},
  };
  for (const auto& [bytes, what] : cases) {
    const absl::Status status = DecodeStatus(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(what));
  }
}

TEST(FrameTest, Decode_ReservedFieldNotZero_InvalidArgument) {
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeStatus(Header(kFrameMagic, 1, 1, 0, 1))));
}

TEST(FrameTest, Decode_OtherVersion_FrameThatSaysSo) {
  FrameDecoder decoder;
  const auto frames = Decode(decoder, {Header(kFrameMagic, 7, 1, 0)});
  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->size(), 1u);
  EXPECT_EQ(frames->front().version, 7);
}

TEST(FrameTest, Decode_AfterAnError_SameErrorForGoodBytes) {
  FrameDecoder decoder;
  const absl::Status first = Decode(decoder, {std::string(16, 'x')}).status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(Decode(decoder, {Encoded({.type = 1})}).status(), first);
}

TEST(FrameTest, AtBoundary_PartOfAFrame_False) {
  const std::string bytes = Encoded({.type = 1, .payload = "abc"});
  for (size_t size = 1; size < bytes.size(); ++size) {
    FrameDecoder decoder;
    ASSERT_TRUE(Decode(decoder, {absl::string_view(bytes).substr(0, size)}).ok());
    EXPECT_FALSE(decoder.AtBoundary()) << size;
  }
}

}  // namespace
}  // namespace autobatch
