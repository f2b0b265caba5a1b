#include "autobatch/simcuda/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

using ::testing::HasSubstr;

TEST(FaultsTest, EveryFault_WithItsName_IsRead) {
  const ParsedFaults faults = ParseFaults(
      "oom_at=17;oom_in=backward;oom_count=3;oom_from_batch=64;launch_error_at=1;lost_at=2;"
      "hang_at=3; crash_at=4 ;spill=1;stolen=2GiB@40;nccl_less=2;nccl_abort_hangs=1");
  ASSERT_EQ(faults.error, "");
  EXPECT_EQ(faults.plan.oom_at, 17);
  EXPECT_TRUE(faults.plan.oom_in_backward);
  EXPECT_EQ(faults.plan.oom_count, 3);
  EXPECT_EQ(faults.plan.oom_from_batch, 64);
  EXPECT_EQ(faults.plan.launch_error_at, 1);
  EXPECT_EQ(faults.plan.lost_at, 2);
  EXPECT_EQ(faults.plan.hang_at, 3);
  EXPECT_EQ(faults.plan.crash_at, 4);
  EXPECT_TRUE(faults.plan.spill);
  EXPECT_EQ(faults.plan.stolen_bytes, uint64_t{2} << 30);
  EXPECT_EQ(faults.plan.stolen_at, 40);
  EXPECT_EQ(faults.plan.nccl_less, 2);
  EXPECT_TRUE(faults.plan.nccl_abort_hangs);
}

TEST(FaultsTest, Help_HasEveryFault) {
  for (const char* name :
       {"oom_at=", "oom_count=", "oom_in=", "oom_from_batch=", "launch_error_at=", "lost_at=",
        "hang_at=", "crash_at=", "spill=", "stolen=", "nccl_less=", "nccl_abort_hangs="}) {
    EXPECT_THAT(std::string(FaultHelp()), HasSubstr("  " + std::string(name)));
  }
}

TEST(FaultsTest, BackwardOnly_WithoutANumber_MeansItsFirstAllocation) {
  EXPECT_EQ(ParseFaults("oom_in=backward").plan.oom_at, 1);
}

TEST(FaultsTest, Nothing_Asked_IsNoFault) {
  const ParsedFaults none = ParseFaults("");
  EXPECT_EQ(none.error, "");
  EXPECT_EQ(none.plan.oom_at, 0);
  EXPECT_FALSE(none.plan.spill);
  EXPECT_FALSE(none.plan.nccl_abort_hangs);
}

TEST(FaultsTest, Mistake_OfAnyKind_IsNamed) {
  EXPECT_THAT(ParseFaults("oom=1").error, HasSubstr("the nearest is 'oom_"));
  EXPECT_THAT(ParseFaults("oom_at").error, HasSubstr("no fault such as"));
  EXPECT_THAT(ParseFaults("oom_at=soon").error, HasSubstr("a whole number"));
  EXPECT_THAT(ParseFaults("oom_in=forward").error, HasSubstr("backward"));
  EXPECT_THAT(ParseFaults("stolen=2GiB@0").error, HasSubstr("2GiB@40"));
}

}  // namespace
}  // namespace autobatch::simcuda
