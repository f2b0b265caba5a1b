#include "orchestrator/nccl/reduce_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

namespace autobatch {
namespace {

class ReduceChannelTest : public ::testing::Test {
 protected:
  ReduceChannelTest() {
    EXPECT_EQ(pipe2(request_, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(report_, O_CLOEXEC), 0);
  }
  ~ReduceChannelTest() override {
    for (int fd : {request_[0], request_[1], report_[0], report_[1]}) close(fd);
  }
  void Ask(absl::string_view text) {
    ASSERT_EQ(write(request_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void Leave() {
    close(request_[1]);
    request_[1] = -1;
  }

  int request_[2];
  int report_[2];
};

TEST_F(ReduceChannelTest, CommandInPieces_IsOne) {
  const std::string line = ToJson(ReduceCommand{.task = ReduceTask::kUniqueId}) + "\n";
  Ask(line);
  ReduceChannel channel(request_[0], report_[1]);
  const absl::StatusOr<ReduceCommand> command = channel.Receive();
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->task, ReduceTask::kUniqueId);
}

TEST_F(ReduceChannelTest, ParentThatIsGone_IsCancelled) {
  Ask("{\"task\":");
  Leave();
  ReduceChannel channel(request_[0], report_[1]);
  EXPECT_EQ(channel.Receive().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ReduceChannelTest, Nonsense_IsRefused) {
  Ask("hello\n");
  ReduceChannel channel(request_[0], report_[1]);
  EXPECT_EQ(channel.Receive().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReduceChannelTest, Close_IsSeenAndBytesAreNoClose) {
  ReduceChannel channel(request_[0], report_[1]);
  EXPECT_FALSE(channel.WaitForClose(absl::ZeroDuration()));
  Ask("\n");
  EXPECT_FALSE(channel.WaitForClose(absl::InfiniteDuration()));
  Leave();
  EXPECT_TRUE(channel.WaitForClose(absl::InfiniteDuration()));
}

TEST_F(ReduceChannelTest, Reply_IsOneLine) {
  ReduceChannel channel(request_[0], report_[1]);
  ASSERT_TRUE(channel.Send({.type = ReduceReplyType::kUniqueId, .unique_id = "ab"}).ok());
  char text[4096];
  const ssize_t got = read(report_[0], text, sizeof(text));
  ASSERT_GT(got, 0);
  const absl::string_view line(text, static_cast<size_t>(got));
  EXPECT_EQ(line.back(), '\n');
  const absl::StatusOr<ReduceReply> reply = FromJson<ReduceReply>(line);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->unique_id, "ab");
}

TEST(ReduceChannelEnvironmentTest, NoDescriptors_MeansStartedByHand) {
  unsetenv(kRequestFdVariable);
  EXPECT_EQ(ReduceChannel::FromEnvironment().status().code(),
            absl::StatusCode::kFailedPrecondition);
  setenv(kRequestFdVariable, "3", 1);
  setenv(kReportFdVariable, "none", 1);
  EXPECT_EQ(ReduceChannel::FromEnvironment().status().code(),
            absl::StatusCode::kFailedPrecondition);
  setenv(kReportFdVariable, "4", 1);
  EXPECT_TRUE(ReduceChannel::FromEnvironment().ok());
}

}  // namespace
}  // namespace autobatch
