#include "orchestrator/net/tls_transport.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/tls_fixture.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using TlsTransportTest = TlsFixture;

TEST_F(TlsTransportTest, Connect_SameSecretAndRun_FramesBothWays) {
  Listen();
  Meet();
  EXPECT_EQ(coordinator_->peer().identity, "run-1");
  EXPECT_EQ(agent_->peer().identity, "run-1");
  EXPECT_THAT(coordinator_->peer().address, StartsWith("127.0.0.1:"));
  EXPECT_EQ(agent_->peer().address, address().ToString());
  ASSERT_TRUE(agent_->Send(FrameBytes(1, "hello")).ok());
  ASSERT_TRUE(agent_->Send(FrameBytes(2)).ok());
  EXPECT_EQ(*loop_.Run(coordinator_->Receive()), (Frame{.type = 1, .payload = "hello"}));
  EXPECT_EQ(*loop_.Run(coordinator_->Receive()), (Frame{.type = 2}));
  ASSERT_TRUE(coordinator_->Send(FrameBytes(3, "welcome")).ok());
  EXPECT_EQ(loop_.Run(agent_->Receive())->payload, "welcome");
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(TlsTransportTest, Send_LargestRecord_ArrivesWhole) {
  Listen();
  Meet();
  std::string record(kMemberPayloadLimit, '\0');
  for (size_t i = 0; i < record.size(); ++i) record[i] = static_cast<char>(i * 2654435761u >> 13);
  ASSERT_TRUE(coordinator_->Send(FrameBytes(1, record)).ok());
  ASSERT_TRUE(coordinator_->Send(FrameBytes(2, record)).ok());
  EXPECT_TRUE(loop_.Run(agent_->Receive())->payload == record);
  EXPECT_TRUE(loop_.Run(agent_->Receive())->payload == record);
}

TEST_F(TlsTransportTest, Connect_ManyAtOnce_AllServed) {
  // More than there are places for handshakes.
  Listen({.handshakes = 16});
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  constexpr size_t kAgents = 200;
  std::vector<Pending<Made>> made;
  for (size_t i = 0; i < kAgents; ++i) {
    made.push_back(Start(connector->Connect({address()}, InTen())));
  }
  ASSERT_TRUE(loop_.RunUntil([this] { return accepted_.size() == kAgents; }));
  ASSERT_TRUE(loop_.RunUntil([&made] {
    return std::all_of(made.begin(), made.end(), [](const auto& one) { return one.has_value(); });
  }));
  for (const auto& one : made) EXPECT_TRUE(one->ok()) << one->status();
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(TlsTransportTest, Finish_PeerReads_AllArrivesThenOutOfRange) {
  Listen();
  Meet();
  const std::string record(100'000, 'x');
  ASSERT_TRUE(coordinator_->Send(FrameBytes(1, record)).ok());
  const auto finished = Start(coordinator_->Finish(InTen()));
  EXPECT_EQ(loop_.Run(agent_->Receive())->payload, record);
  EXPECT_TRUE(absl::IsOutOfRange(loop_.Run(agent_->Receive()).status()));
  ASSERT_TRUE(Await(finished));
  EXPECT_EQ(*finished, absl::OkStatus());
  EXPECT_TRUE(absl::IsCancelled(coordinator_->Send(FrameBytes(1))));
}

TEST_F(TlsTransportTest, Finish_WhileReceiving_BothEnd) {
  Listen();
  Meet();
  coordinator_->Admit();
  const auto received = Start(coordinator_->Receive());
  const auto at_agent = Start(agent_->Receive());
  const auto finished = Start(coordinator_->Finish(InTen()));
  ASSERT_TRUE(loop_.RunUntil(
      [&] { return received.has_value() && at_agent.has_value() && finished.has_value(); }));
  EXPECT_EQ(*finished, absl::OkStatus());
  EXPECT_FALSE(received->ok());
  EXPECT_TRUE(absl::IsOutOfRange(at_agent->status())) << at_agent->status();
}

TEST_F(TlsTransportTest, Finish_PeerDoesNotRead_DeadlineExceeded) {
  Listen();
  Meet();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(coordinator_->Send(FrameBytes(1, std::string(kMemberPayloadLimit, 'x'))).ok());
  }
  const auto finished = Start(coordinator_->Finish(Add(loop_.timers.Now(), absl::Seconds(1))));
  loop_.Settle();
  EXPECT_FALSE(finished.has_value());
  loop_.timers.Jump(absl::Seconds(1));
  ASSERT_TRUE(Await(finished));
  EXPECT_TRUE(absl::IsDeadlineExceeded(*finished)) << *finished;
}

TEST_F(TlsTransportTest, Close_PendingReceive_EndsWithTheReasonAndPeerSeesCutStream) {
  Listen();
  Meet();
  const auto received = Start(coordinator_->Receive());
  loop_.Settle();
  coordinator_->Close(absl::AbortedError("a reason"));
  ASSERT_TRUE(Await(received));
  EXPECT_TRUE(absl::IsAborted(received->status()));
  EXPECT_TRUE(absl::IsAborted(loop_.Run(coordinator_->Receive()).status()));
  // Without a good-bye, this may be an attacker that cut the stream.
  EXPECT_TRUE(absl::IsDataLoss(loop_.Run(agent_->Receive()).status()));
}

TEST_F(TlsTransportTest, Destroy_PendingReceive_Cancelled) {
  Listen();
  Meet();
  const auto received = Start(coordinator_->Receive());
  loop_.Settle();
  coordinator_.reset();
  ASSERT_TRUE(Await(received));
  EXPECT_TRUE(absl::IsCancelled(received->status()));
}

TEST_F(TlsTransportTest, Receive_GroupCancelled_CancelledAndJoined) {
  Listen();
  Meet();
  const auto received = Start(agent_->Receive());
  loop_.Settle();
  loop_.Stop();
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(absl::IsCancelled(received->status())) << received->status();
  EXPECT_TRUE(absl::IsCancelled(agent_->Send(FrameBytes(1))));
}

TEST_F(TlsTransportTest, Accept_ListenerClosed_CancelledAndConnectionsStay) {
  Listen();
  Meet();
  listener_->Close();
  EXPECT_TRUE(absl::IsCancelled(loop_.Run(listener_->Accept()).status()));
  ASSERT_TRUE(agent_->Send(FrameBytes(1, "still")).ok());
  EXPECT_EQ(loop_.Run(coordinator_->Receive())->payload, "still");
  EXPECT_TRUE(absl::IsUnavailable(Call().status()));
}

TEST_F(TlsTransportTest, Listen_RestartOnTheSamePort_TakesItOver) {
  Listen();
  Meet();
  const uint16_t port = address().port;
  // This side closes first, and so is left in TIME_WAIT.
  coordinator_.reset();
  EXPECT_FALSE(loop_.Run(agent_->Receive()).ok());
  agent_.reset();
  listener_->Close();
  loop_.Settle();
  auto again = ListenTls(loop_.tasks, loop_.timers, RunSecret(),
                         {.bind_address = "127.0.0.1", .ports = {port, port}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->address().port, port);
}

TEST_F(TlsTransportTest, Listen_AnotherJobOnThePort_NextOfTheRangeAndRunsKeptApart) {
  Listen();
  const uint16_t port = address().port;
  auto other = ListenTls(loop_.tasks, loop_.timers, RunSecret("run-2"),
                         {.bind_address = "127.0.0.1",
                          .ports = {port, static_cast<uint16_t>(std::min(port + 20, 65535))}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_GT((*other)->address().port, port);
  // An agent of the other run that comes here, with the same secret, does not get in.
  EXPECT_TRUE(absl::IsPermissionDenied(Call(RunSecret("run-2")).status()));
  ASSERT_TRUE(AwaitLog());
  EXPECT_THAT(log_[0], HasSubstr("asks for run 'run-2', this is 'run-1'"));
  ExpectServed();
}

TEST_F(TlsTransportTest, Connect_BadRunId_InvalidArgument) {
  Listen();
  EXPECT_TRUE(absl::IsInvalidArgument(Call(RunSecret("two words")).status()));
}

TEST_F(TlsTransportTest, Connect_SeveralHosts_TheOneThatAnswers) {
  Listen();
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  const Made made =
      loop_.Run(connector->Connect({{"127.0.0.1", 1}, {"::1", 1}, address()}, InTen()));
  EXPECT_TRUE(made.ok()) << made.status();
}

TEST_F(TlsTransportTest, Connect_NobodyListens_UnavailableThatNamesEach) {
  Listen();
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  const absl::Status status =
      loop_.Run(connector->Connect({{"127.0.0.1", 1}, {"127.0.0.1", 2}}, InTen())).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:2: Connection refused"));
}

TEST_F(TlsTransportTest, Connect_OtherSideSaysNothing_DeadlineExceeded) {
  // It takes the connection and is silent.
  boost::asio::ip::tcp::acceptor silent(loop_.io, {boost::asio::ip::address_v4::loopback(), 0});
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  const auto made =
      Start(connector->Connect({{"127.0.0.1", silent.local_endpoint().port()}}, InTen()));
  loop_.Settle();
  EXPECT_FALSE(made.has_value());
  loop_.timers.Jump(absl::Seconds(10));
  ASSERT_TRUE(Await(made));
  EXPECT_TRUE(absl::IsDeadlineExceeded(made->status())) << made->status();
}

TEST_F(TlsTransportTest, Connect_OtherSideSpeaksHttp_ErrorThatNamesTls) {
  boost::asio::ip::tcp::acceptor http(loop_.io, {boost::asio::ip::address_v4::loopback(), 0});
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  const auto made =
      Start(connector->Connect({{"127.0.0.1", http.local_endpoint().port()}}, InTen()));
  loop_.Settle();
  Socket socket = http.accept();
  Say(socket, "HTTP/1.1 400 Bad Request\r\n\r\n");
  ASSERT_TRUE(Await(made));
  EXPECT_THAT(made->status().message(), HasSubstr("TLS"));
}

}  // namespace
}  // namespace autobatch
