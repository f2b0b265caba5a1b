#include "orchestrator/nccl/reduce_protocol.h"

#include <gtest/gtest.h>

#include "autobatch/types/json.h"

namespace autobatch {
namespace {

TEST(ReduceProtocolTest, Failure_KeepsItsCodeAndWords) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kAborted, absl::StatusCode::kResourceExhausted,
        absl::StatusCode::kCancelled, absl::StatusCode::kInvalidArgument,
        absl::StatusCode::kInternal}) {
    const absl::Status status(code, "why");
    EXPECT_EQ(ToStatus(ToFailure(status)), status);
  }
  EXPECT_EQ(ToStatus(ToFailure(absl::DataLossError("why"))), absl::InternalError("why"));
}

TEST(ReduceProtocolTest, Command_ReadsWhatItWrites) {
  const ReduceCommand command = {
      .task = ReduceTask::kReduce,
      .nccl_library = "/x/libnccl.so.2",
      .request = ReduceRequest{.unique_id = std::string(256, '0'),
                               .world_size = 3,
                               .rank_base = 1,
                               .devices = {{.uuid = "GPU-a", .value = int64_t{1} << 62}}},
      .timeout_ms = 1500};
  const absl::StatusOr<ReduceCommand> back = FromJson<ReduceCommand>(ToJson(command));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(command));
  EXPECT_EQ(back->request->devices[0].value, int64_t{1} << 62);
}

TEST(ReduceProtocolTest, Answer_ReadsWhatItWrites) {
  const ReduceReply reply = {
      .type = ReduceReplyType::kAnswer,
      .answer = ReduceAnswer{.minimum = 7,
                             .library = {.version = "2.28.9", .path = "/x"},
                             .devices = {{.uuid = "GPU-a", .rank = 1, .communicator_bytes = 5},
                                         {.uuid = "GPU-b", .rank = 2}}}};
  const absl::StatusOr<ReduceReply> back = FromJson<ReduceReply>(ToJson(reply));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(reply));
}

TEST(ReduceProtocolTest, EveryPhase_HasWords) {
  EXPECT_EQ(PhaseWords(ReducePhase::kInit), "for all ranks to join");
  EXPECT_NE(PhaseWords(ReducePhase::kReduce), PhaseWords(ReducePhase::kMeasure));
}

}  // namespace
}  // namespace autobatch
