#include "orchestrator/nccl/verdicts.h"

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "orchestrator/nccl/reduce_answer.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(MinimaAgreeTest, SameMinimum_IsOk) {
  EXPECT_TRUE(MinimaAgree(24, 24).ok());
  EXPECT_TRUE(MinimaAgree(0, 0).ok());
}

TEST(MinimaAgreeTest, OtherMinimum_NamesBothValues) {
  const absl::Status status = MinimaAgree(24, 23);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "the minimum over TCP is 24, over NCCL it is 23: neither is used");
}

TEST(JudgeCommunicatorTest, SmallerThanAssumed_KeepsWhatWasConfirmed) {
  const CommunicatorVerdict verdict = JudgeCommunicator(kGiB, kGiB / 4);
  EXPECT_EQ(verdict.margin_bytes, kGiB);
  EXPECT_FALSE(verdict.confirm_again);
  EXPECT_EQ(verdict.text, "communicator: measured 256.0 MiB, within the 1.00 GiB held back");
  EXPECT_FALSE(JudgeCommunicator(kGiB, kGiB).confirm_again);
}

TEST(JudgeCommunicatorTest, LargerThanAssumed_AsksForOneMoreConfirmation) {
  const CommunicatorVerdict verdict = JudgeCommunicator(kGiB, kGiB + 1);
  EXPECT_EQ(verdict.margin_bytes, kGiB + 1);
  EXPECT_TRUE(verdict.confirm_again);
  EXPECT_THAT(verdict.text, HasSubstr("confirming once more"));
  // And after that one there is nothing more to ask for.
  EXPECT_FALSE(JudgeCommunicator(verdict.margin_bytes, kGiB + 1).confirm_again);
}

TEST(JudgeCommunicatorTest, Unmeasured_ChangesNothing) {
  const CommunicatorVerdict verdict = JudgeCommunicator(kGiB, std::nullopt);
  EXPECT_EQ(verdict.margin_bytes, kGiB);
  EXPECT_FALSE(verdict.confirm_again);
  EXPECT_THAT(verdict.text, HasSubstr("not measured"));
}

TEST(CommunicatorBytesTest, OfSeveralDevices_IsTheLargestKnown) {
  ReduceAnswer answer;
  EXPECT_EQ(CommunicatorBytes(answer), std::nullopt);
  answer.devices = {{.uuid = "a", .communicator_bytes = 5},
                    {.uuid = "b"},
                    {.uuid = "c", .communicator_bytes = 9},
                    {.uuid = "d", .communicator_bytes = 7}};
  EXPECT_EQ(CommunicatorBytes(answer), 9);
}

}  // namespace
}  // namespace autobatch
