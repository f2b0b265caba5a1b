#include "orchestrator/nccl/reduce_answer.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

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
