#include "orchestrator/wire/messages.h"

#include <gmock/gmock.h>

#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/wire/message_samples.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// The type's number on the wire, of the sample of that name.
uint16_t TypeNamed(absl::string_view name) {
  for (const Message& message : SampleMessages()) {
    if (MessageName(message) == name) return EncodeMessage(message)->type;
  }
  ADD_FAILURE() << "no sample of " << name;
  return 0;
}

absl::StatusOr<Message> Decode(absl::string_view name, std::string payload) {
  return DecodeMessage(Frame{.type = TypeNamed(name), .payload = std::move(payload)});
}

TEST(MessagesTest, EveryMessage_SurvivesTheRoundTrip) {
  std::set<size_t> kinds;
  std::set<uint16_t> types;
  for (const Message& message : SampleMessages()) {
    const auto frame = EncodeMessage(message);
    ASSERT_TRUE(frame.ok()) << frame.status();
    const auto back = DecodeMessage(*frame);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->index(), message.index());
    EXPECT_EQ(EncodeMessage(*back)->payload, frame->payload) << MessageName(message);
    EXPECT_EQ(RunIdOf(*back), "job-1");
    EXPECT_EQ(RoundOf(*back), 3);
    kinds.insert(message.index());
    types.insert(frame->type);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
  EXPECT_EQ(types.size(), kinds.size());
}

// Older peers know the numbers: a change here needs a new protocol version.
TEST(MessagesTest, Types_AreThoseOfProtocolVersionOne) {
  std::string numbers;
  for (const Message& message : SampleMessages()) {
    absl::StrAppend(&numbers, MessageName(message), "=", EncodeMessage(message)->type, " ");
  }
  EXPECT_EQ(numbers,
            "hello=1 report=2 heartbeat=3 reduce_id=4 reduce_result=5 prepared=6 committed=7 "
            "leave=8 welcome=101 progress=102 collect=103 reduce=104 grants=105 prepare=106 "
            "commit=107 abort=108 refuse=109 heartbeat_ack=110 ");
}

TEST(MessagesTest, Direction_IsOfTheType) {
  EXPECT_TRUE(IsFromAgent(AgentHello()));
  EXPECT_TRUE(IsFromAgent(Leave()));
  EXPECT_FALSE(IsFromAgent(Welcome()));
  EXPECT_FALSE(IsFromAgent(HeartbeatAck()));
}

TEST(MessagesTest, UnknownFields_AreIgnored_AndMissingOnesKeepTheirDefault) {
  const auto leave =
      Decode("leave", R"({"run_id": "r", "round": 0, "from_the_future": {"a": []}})");
  ASSERT_TRUE(leave.ok()) << leave.status();
  EXPECT_FALSE(std::get<Leave>(*leave).done);
}

TEST(MessagesTest, OtherProtocolVersion_IsRefusedNamingBoth) {
  Frame frame = *EncodeMessage(Leave{.run_id = "r"});
  frame.version = kWireVersion + 6;
  const absl::Status status = DecodeMessage(frame).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("version 7, this side version 1"));
  EXPECT_EQ(RefusalOf(status).code, RefuseCode::kVersion);
  EXPECT_TRUE(RefusalOf(status).closing);
}

TEST(MessagesTest, UnknownType_IsRefusedAndTheConnectionGoesOn) {
  const absl::Status status = DecodeMessage(Frame{.type = 99, .payload = "{}"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("type 99"));
  EXPECT_EQ(RefusalOf(status).code, RefuseCode::kUnexpected);
  EXPECT_FALSE(RefusalOf(status).closing);
}

// What a report may claim about a batch: the numbers and texts of a confused or hostile agent.
TEST(MessagesTest, BatchOfAReport_IsBoundedWhateverIsSent) {
  const struct {
    const char* batch;
    const char* complaint;  // null: valid
  } kCases[] = {
      {"0", nullptr},
      {"1", nullptr},
      {"16777216", nullptr},
      {"16777217", "devices[0].batch: 16777217 is not within 0 to 16777216"},
      {"-1", "devices[0].batch: -1 is not within"},
      {"9223372036854775807", "is not within"},
      {"-9223372036854775808", "is not within"},
      {"9223372036854775808", "expected a whole number"},
      {"18446744073709551616", "expected a whole number"},
      {"1e400", "expected a whole number"},
      {"8.5", "expected a whole number"},
      {"NaN", "not JSON"},
      {"\"NaN\"", "devices[0].batch: expected a whole number, found string"},
      {"null", "expected a whole number"},
      {"[8]", "expected a whole number"},
  };
  for (const auto& c : kCases) {
    const auto report =
        Decode("report", absl::StrCat(R"({"run_id": "r", "round": 1, "devices": [{"uuid": "G",)",
                                      R"("batch": )", c.batch, "}]}"));
    if (c.complaint == nullptr) {
      EXPECT_TRUE(report.ok()) << c.batch << ": " << report.status();
    } else {
      EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument) << c.batch;
      EXPECT_THAT(report.status().message(), HasSubstr(c.complaint)) << c.batch;
      EXPECT_THAT(report.status().message(), HasSubstr("report: "));
      EXPECT_EQ(RefusalOf(report.status()).code, RefuseCode::kInvalid);
    }
  }
}

TEST(MessagesTest, Garbage_IsRefused) {
  for (const char* payload : {"", "{", "[]", "null", "{\"run_id\": 7}", "\xff\xfe", "{} {}"}) {
    EXPECT_EQ(Decode("hello", payload).status().code(), absl::StatusCode::kInvalidArgument)
        << payload;
  }
}

TEST(MessagesTest, Encode_MendsTextsButNotNames) {
  const auto frame = EncodeMessage(Leave{.run_id = "r", .reason = "killed\x1b[2J"});
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_THAT(frame->payload, HasSubstr("killed?[2J"));
  EXPECT_EQ(EncodeMessage(Leave{.run_id = "r\n"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autobatch
