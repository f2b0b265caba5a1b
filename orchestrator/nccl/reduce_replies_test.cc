#include "orchestrator/nccl/reduce_replies.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

const std::string kId(256, 'a');

TEST(ReduceReplies_InAnyPieces, AreTheSame) {
  const std::string text =
      ToJson(ReduceReply{.type = ReduceReplyType::kPhase, .phase = ReducePhase::kInit}) + "\n" +
      ToJson(ReduceReply{.type = ReduceReplyType::kUniqueId, .unique_id = kId}) + "\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    ReduceReplies replies;
    replies.Append(text.substr(0, cut));
    const auto early = replies.Next();
    ASSERT_TRUE(early.ok()) << early.status();
    EXPECT_EQ(early->has_value(), cut == text.size());
    if (early->has_value()) continue;
    replies.Append(text.substr(cut));
    const auto reply = replies.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << cut;
    EXPECT_EQ((*reply)->unique_id, kId);
    EXPECT_EQ(replies.phase(), ReducePhase::kInit);
  }
}

TEST(ReduceReplies_Failure, IsItsStatus) {
  ReduceReplies replies;
  replies.Append(R"({"type":"failure","failure":{"kind":"timeout","message":"late"}})"
                 "\n");
  EXPECT_EQ(replies.Next().status(), absl::DeadlineExceededError("late"));
}

TEST(ReduceReplies_WhatIsNoReply, IsNamed) {
  const auto said = [](const std::string& line) {
    ReduceReplies replies;
    replies.Append(line + "\n");
    return std::string(replies.Next().status().message());
  };
  EXPECT_THAT(said("no JSON"), HasSubstr("syntax"));
  EXPECT_THAT(said(R"({"type":"unique_id"})"), HasSubstr("of type unique_id, with nothing"));
  EXPECT_THAT(said(R"({"type":"unique_id","unique_id":"ab"})"), HasSubstr("256"));
  EXPECT_THAT(said(R"({"type":"phase"})"), HasSubstr("of type phase, with nothing"));
  EXPECT_THAT(said(R"({"type":"answer"})"), HasSubstr("of type answer, with nothing"));
  EXPECT_THAT(said(R"({"type":"phase","phase":"init","answer":{"minimum":-7}})"),
              HasSubstr("minimum -7"));
  EXPECT_THAT(said("{}"), HasSubstr("of type failure, with nothing"));
}

TEST(CheckReduceReply_NumbersThatNoReductionHas, AreNamed) {
  const auto said = [](auto spoil) {
    ReduceReply reply{.type = ReduceReplyType::kAnswer,
                      .answer = ReduceAnswer{.minimum = 3, .devices = {{"GPU-a", 1, 5}}}};
    EXPECT_EQ(CheckReduceReply(reply), absl::OkStatus());
    spoil(*reply.answer);
    return std::string(CheckReduceReply(reply).message());
  };
  using A = ReduceAnswer;
  EXPECT_THAT(said([](A& a) { a.minimum = -1; }), HasSubstr("minimum -1"));
  EXPECT_THAT(said([](A& a) { a.devices[0].rank = -1; }), HasSubstr("rank -1"));
  EXPECT_THAT(said([](A& a) { a.devices[0].rank = kMostReduceRanks; }), HasSubstr("rank 1048576"));
  EXPECT_THAT(said([](A& a) { a.devices[0].communicator_bytes = -5; }), HasSubstr("bytes -5"));
  EXPECT_THAT(said([](A& a) { a.devices.resize(1025); }), HasSubstr("1025 devices"));
  EXPECT_THAT(said([](A& a) { a.init_ms = std::nan(""); }), HasSubstr("a time of nan"));
  EXPECT_THAT(said([](A& a) { a.reduce_ms = -1; }), HasSubstr("a time of -1"));
}

}  // namespace
}  // namespace autobatch
