// What a peer that has proved who it is may still do to a connection.

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/tls_relay_fixture.h"

namespace autobatch {
namespace {

using TlsTransportStreamTest = TlsRelayFixture;

SharedBytes Raw(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

// A header that claims a payload of this length.
std::string Claim(uint32_t length) {
  std::string header = *FrameBytes(1);
  for (int i = 0; i < 4; ++i) header[8 + i] = static_cast<char>(length >> (24 - 8 * i));
  return header;
}

TEST_F(TlsTransportStreamTest, Receive_FrameCutIntoEveryPairOfPieces_SameFrame) {
  Listen();
  Meet();
  const std::string bytes = *FrameBytes(5, "a payload");
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ASSERT_TRUE(agent_->Send(Raw(bytes.substr(0, cut))).ok());
    loop_.Settle();
    ASSERT_TRUE(agent_->Send(Raw(bytes.substr(cut))).ok());
    const auto frame = loop_.Run(coordinator_->Receive());
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->payload, "a payload");
  }
}

TEST_F(TlsTransportStreamTest, Send_TwoFramesInOne_AreReadOneAfterTheOther) {
  Listen();
  Meet();
  ASSERT_TRUE(agent_->Send(Raw(*FrameBytes(5, "one") + *FrameBytes(6, "two"))).ok());
  EXPECT_EQ(loop_.Run(coordinator_->Receive())->payload, "one");
  EXPECT_EQ(loop_.Run(coordinator_->Receive())->payload, "two");
}

template <typename Result>
boost::asio::awaitable<void> Ignore(boost::asio::awaitable<Result> operation) {
  (void)co_await std::move(operation);
}

// Somebody else on the thread: counts its turns, until there is nothing to wait for.
void TakeTurns(boost::asio::io_context* io, int* turns, const bool* over) {
  if (*over) return;
  ++*turns;
  boost::asio::post(*io, [=] { TakeTurns(io, turns, over); });
}

// The most frames, of so many that come, that are read between two turns of somebody else.
boost::asio::awaitable<int> MostInATurn(Connection* from, int frames, const int* turns) {
  int most = 0;
  int turn = *turns;
  for (int received = 0, since = 0; received < frames; ++received) {
    if (!(co_await from->Receive()).ok()) co_return frames;
    since = *turns == turn ? since + 1 : 1;
    turn = *turns;
    most = std::max(most, since);
  }
  co_return most;
}

TEST_F(TlsTransportStreamTest, Receive_PeerThatSendsWithoutEnd_LeavesOthersTheirTurn) {
  constexpr int kFrames = 200;
  Listen();
  Meet();
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(agent_->Send(FrameBytes(1, std::string(1000, 'x'))).ok());
  }
  loop_.Settle();
  int turns = 0;
  bool over = false;
  TakeTurns(&loop_.io, &turns, &over);
  EXPECT_LT(loop_.Run(MostInATurn(coordinator_.get(), kFrames, &turns)), kFrames / 4);
  over = true;
  loop_.Settle();
}

// The coordinator is not told of an agent that has nothing to say yet; what it sends, waits for or
// leaves with brings the rest of the handshake along.
TEST_F(TlsTransportStreamTest, SpeaksFirst_TheHandshakeEndsWithItsFirstWords) {
  Listen();
  for (const char* first : {"sends", "receives", "leaves"}) {
    SCOPED_TRACE(first);
    Made made = Call(RunSecret(), {.speaks_first = true});
    ASSERT_TRUE(made.ok()) << made.status();
    loop_.Settle();
    EXPECT_TRUE(accepted_.empty());
    if (first == absl::string_view("sends")) {
      ASSERT_TRUE((*made)->Send(FrameBytes(7, "hello")).ok());
    } else if (first == absl::string_view("receives")) {
      loop_.tasks.Spawn("receive", Ignore((*made)->Receive()));
    } else {
      loop_.tasks.Spawn("finish", Ignore((*made)->Finish(InTen())));
    }
    ASSERT_TRUE(loop_.RunUntil([this] { return !accepted_.empty(); }));
    coordinator_ = std::move(accepted_.back());
    accepted_.pop_back();
    if (first == absl::string_view("sends")) {
      EXPECT_EQ(loop_.Run(coordinator_->Receive())->payload, "hello");
    }
    made->reset();
    loop_.Settle();
  }
}

TEST_F(TlsTransportStreamTest, Finish_NobodyReceives_WhatComesIsDropped) {
  Listen();
  Meet();
  ASSERT_TRUE(coordinator_->Send(FrameBytes(1, std::string(50'000, 'x'))).ok());
  const auto agent_done = Start(agent_->Finish(InTen()));
  const auto coordinator_done = Start(coordinator_->Finish(InTen()));
  ASSERT_TRUE(Await(agent_done) && Await(coordinator_done));
  EXPECT_TRUE(agent_done->ok()) << *agent_done;
  EXPECT_TRUE(coordinator_done->ok()) << *coordinator_done;
}

TEST_F(TlsTransportStreamTest, Receive_LengthOverTheLimit_ResourceExhaustedAndClosed) {
  Listen();
  for (uint32_t length : {kStrangerPayloadLimit + 1, kMemberPayloadLimit + 1, 0x7fffffffu,
                          0x80000000u, 0xffffffffu}) {
    for (bool admitted : {false, true}) {
      if (admitted && length <= kMemberPayloadLimit) continue;
      Meet();
      if (admitted) coordinator_->Admit();
      ASSERT_TRUE(agent_->Send(Raw(Claim(length))).ok());
      const absl::Status status = loop_.Run(coordinator_->Receive()).status();
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_FALSE(loop_.Run(agent_->Receive()).ok());
    }
  }
  ExpectServed();
}

TEST_F(TlsTransportStreamTest, Receive_GarbageInsideTls_InvalidArgument) {
  Listen();
  Meet();
  ASSERT_TRUE(agent_->Send(Raw("GET / HTTP/1.1\r\n\r\n")).ok());
  const absl::Status status = loop_.Run(coordinator_->Receive()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  ExpectServed();
}

TEST_F(TlsTransportStreamTest, Receive_PeerDiesWithinAFrame_DataLoss) {
  Listen();
  const std::string bytes = *FrameBytes(5, "a payload");
  // Within the header, within the payload; killed, and closed in order.
  for (size_t size : {size_t{8}, kFrameHeaderSize, kFrameHeaderSize + 3}) {
    for (bool in_order : {false, true}) {
      Meet();
      ASSERT_TRUE(agent_->Send(Raw(bytes.substr(0, size))).ok());
      loop_.Settle();
      if (in_order) {
        const auto finished = Start(agent_->Finish(InTen()));
      } else {
        agent_.reset();
      }
      const absl::Status status = loop_.Run(coordinator_->Receive()).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    }
  }
}

TEST_F(TlsTransportStreamTest, Send_PeerNeverReads_QueueIsBoundedAndPeerDropped) {
  Listen({.stream = {.queue_bytes = size_t{1} << 20}});
  Meet();
  const SharedBytes frame = FrameBytes(1, std::string(100'000, 'x'));
  absl::Status status;
  int sent = 0;
  // The kernel's buffers take a few megabytes before the queue fills.
  for (; status.ok() && sent < 10'000; ++sent) {
    status = coordinator_->Send(frame);
    loop_.Settle();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::IsResourceExhausted(loop_.Run(coordinator_->Receive()).status()));
  ExpectServed();
}

TEST_F(TlsTransportStreamTest, Send_PeerTakesNothing_DroppedAfterTheSendTimeout) {
  Listen();
  Meet();
  coordinator_->Admit();
  const auto received = Start(coordinator_->Receive());
  ASSERT_TRUE(coordinator_->Send(FrameBytes(1, std::string(kMemberPayloadLimit, 'x'))).ok());
  ASSERT_TRUE(coordinator_->Send(FrameBytes(1, std::string(kMemberPayloadLimit, 'x'))).ok());
  loop_.Settle();
  loop_.timers.Jump(absl::Seconds(4.9));
  loop_.Settle();
  EXPECT_FALSE(received.has_value());
  loop_.timers.Jump(absl::Seconds(0.1));
  ASSERT_TRUE(Await(received));
  EXPECT_TRUE(absl::IsDeadlineExceeded(received->status())) << received->status();
  EXPECT_FALSE(coordinator_->Send(FrameBytes(1)).ok());
}

TEST_F(TlsTransportStreamTest, Send_OnePeerNeverReads_OthersAreServed) {
  Listen();
  Meet();
  std::unique_ptr<Connection> stuck_agent = std::move(agent_);
  std::unique_ptr<Connection> stuck = std::move(coordinator_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stuck->Send(FrameBytes(1, std::string(kMemberPayloadLimit, 'x'))).ok());
  }
  loop_.Settle();
  for (int i = 0; i < 5; ++i) ExpectServed();
}

// A relay changes a byte of what the agent says after its handshake.
TEST_F(TlsTransportStreamTest, Receive_BytesChangedOnTheWay_InvalidArgument) {
  Listen();
  MeetThroughRelay();
  on_agent_bytes_ = [](std::span<char> bytes) { bytes.back() ^= 1; };
  ASSERT_TRUE(agent_->Send(FrameBytes(1, "report")).ok());
  const auto received = Start(coordinator_->Receive());
  while (!received.has_value()) Relay();
  EXPECT_TRUE(absl::IsInvalidArgument(received->status())) << received->status();
}

TEST_F(TlsTransportStreamTest, Accept_NoDescriptorsLeft_BacksOffAndRecovers) {
  Listen();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Sanitizers open descriptors the first time that they see a type.
  (void)boost::asio::error::make_error_code(boost::asio::error::no_descriptors).message();
  // The agents' sockets are there before descriptors run out; their handshakes come after.
  std::vector<Socket> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(CallBare());
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Cleanup restore = [&before] { setrlimit(RLIMIT_NOFILE, &before); };
  for (int i = 0; i < 20; ++i) {
    loop_.timers.Jump(absl::Seconds(1));
    loop_.Settle();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  loop_.timers.Jump(absl::Seconds(1));
  ExpectServed();
}

}  // namespace
}  // namespace autobatch
