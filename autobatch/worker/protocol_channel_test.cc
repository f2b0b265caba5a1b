#include "autobatch/worker/protocol_channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "autobatch/types/json.h"

namespace autobatch {
namespace {

class ProtocolChannelTest : public ::testing::Test {
 protected:
  ProtocolChannelTest() {
    EXPECT_EQ(pipe(requests_), 0);
    EXPECT_EQ(pipe(reports_), 0);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~ProtocolChannelTest() override {
    for (int fd : {requests_[0], requests_[1], reports_[0], reports_[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  void Write(const std::string& bytes) {
    EXPECT_EQ(write(requests_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void EndRequests() {
    close(requests_[1]);
    requests_[1] = -1;
  }

  int requests_[2] = {-1, -1};
  int reports_[2] = {-1, -1};
};

std::string Line(int64_t batch) {
  Request request = {.type = RequestType::kTrial, .trial = TrialSpec{.batch = batch}};
  return ToJson(request) + "\n";
}

TEST_F(ProtocolChannelTest, Requests_InOneWrite_AreReadOneByOneUntilTheEnd) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  Write(Line(3) + Line(4));
  EndRequests();
  EXPECT_EQ((*channel.Receive())->trial->batch, 3);
  EXPECT_EQ((*channel.Receive())->trial->batch, 4);
  const auto end = channel.Receive();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST_F(ProtocolChannelTest, Request_ByteByByte_IsPutTogether) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  std::thread writer([&] {
    for (char c : Line(77)) Write(std::string(1, c));
  });
  const auto request = channel.Receive();
  writer.join();
  ASSERT_TRUE(request.ok());
  EXPECT_EQ((*request)->trial->batch, 77);
}

TEST_F(ProtocolChannelTest, Garbage_IsInvalid) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  Write("hello?\n");
  EXPECT_EQ(channel.Receive().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ProtocolChannelTest, Line_WithoutAnEnd_IsRefusedBeforeItEatsTheMemory) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  std::thread writer([&] {
    const std::string chunk(1 << 16, 'x');
    // Until the reader has had enough and closes its end.
    while (write(requests_[1], chunk.data(), chunk.size()) > 0) {
    }
  });
  EXPECT_EQ(channel.Receive().status().code(), absl::StatusCode::kResourceExhausted);
  close(requests_[0]);
  requests_[0] = -1;
  writer.join();
}

TEST_F(ProtocolChannelTest, Reply_IsOneLineOfJson) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  ASSERT_TRUE(channel.Send({.type = ReplyType::kPhase, .phase = TrialPhase::kBackward}).ok());
  char buffer[4096];
  const ssize_t got = read(reports_[0], buffer, sizeof(buffer));
  ASSERT_GT(got, 0);
  const std::string line(buffer, static_cast<std::size_t>(got));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto reply = FromJson<Reply>(line);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->phase, TrialPhase::kBackward);
}

TEST_F(ProtocolChannelTest, Reply_ToAParentThatIsGone_IsUnavailable) {
  ProtocolChannel channel(requests_[0], reports_[1]);
  close(reports_[0]);
  reports_[0] = -1;
  EXPECT_EQ(channel.Send({.type = ReplyType::kPhase, .phase = TrialPhase::kLoss}).code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(ProtocolChannelTest, Environment_WithoutDescriptors_SaysWhoStartsThis) {
  unsetenv(kRequestFdVariable);
  EXPECT_EQ(ProtocolChannel::FromEnvironment().status().code(),
            absl::StatusCode::kFailedPrecondition);
  setenv(kRequestFdVariable, "three", 1);
  EXPECT_EQ(ProtocolChannel::FromEnvironment().status().code(),
            absl::StatusCode::kFailedPrecondition);
  setenv(kRequestFdVariable, "3", 1);
  setenv(kReportFdVariable, "4", 1);
  EXPECT_TRUE(ProtocolChannel::FromEnvironment().ok());
}

}  // namespace
}  // namespace autobatch
