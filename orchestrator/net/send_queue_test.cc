#include "orchestrator/net/send_queue.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

SharedBytes Bytes(size_t size) { return std::make_shared<const std::string>(size, 'x'); }

TEST(SendQueueTest, Push_UpToTheBytes_ThenResourceExhaustedUntilPopped) {
  SendQueue queue({.queue_bytes = 10, .queue_frames = 100});
  EXPECT_TRUE(queue.Push(Bytes(6)).ok());
  EXPECT_TRUE(queue.Push(Bytes(4)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(queue.Push(Bytes(1))));
  EXPECT_EQ(queue.Pop()->size(), 6u);
  EXPECT_TRUE(queue.Push(Bytes(6)).ok());
  queue.Clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.Push(Bytes(10)).ok());
}

TEST(SendQueueTest, Push_UpToTheFrames_ThenResourceExhausted) {
  SendQueue queue({.queue_bytes = 100, .queue_frames = 2});
  EXPECT_TRUE(queue.Push(Bytes(0)).ok());
  EXPECT_TRUE(queue.Push(Bytes(0)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(queue.Push(Bytes(0))));
}

}  // namespace
}  // namespace autobatch
