// Strangers at the listener's door: each is turned away, with a reason of its own in our log and
// none for itself, and an honest agent is served afterwards.

#include <sys/socket.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/tls_relay_fixture.h"

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using TlsTransportHostileTest = TlsRelayFixture;

TEST_F(TlsTransportHostileTest, WrongSecretRunOrRole_OneReasonForThemAndThreeForUs) {
  Listen();
  const std::vector<std::pair<std::function<Made()>, std::string>> cases = {
      {[this] { return Call(RunSecret("run-1", "fedcba9876543210")); }, "has another secret"},
      {[this] { return Call(RunSecret("run-9")); }, "belongs to another run"},
      {[this] { return Call(RunSecret(), {.role = Role::kCoordinator}); }, "has the wrong role"},
  };
  std::vector<std::string> told;
  for (const auto& [call, reason] : cases) {
    log_.clear();
    const absl::Status status = call().status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    told.emplace_back(status.message());
    ASSERT_TRUE(AwaitLog());
    EXPECT_THAT(log_, SizeIs(1));
    EXPECT_THAT(log_[0], HasSubstr(reason));
  }
  // The port is the same for all.
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0], told[2]);
  EXPECT_THAT(accepted_, IsEmpty());
  ExpectServed();
}

TEST_F(TlsTransportHostileTest, OtherProtocols_NamedAndClosed) {
  using std::string_literals::operator""s;
  Listen();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"},
      {"\0\xCE\xF7\x85\x3C\x0D\0\0\0\0"s, "PyTorch's TCPStore"},
      {"\x6C\x9D\x4B\xFC\xF2\xB9\x4A\x56\0\0\0\0"s, "NCCL"},
      {*FrameBytes(1, "hello"), "autobatch without TLS"},
      {"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH"},
      {std::string(100'000, '\xff'), "an unknown protocol"},
      {std::string(1, '\0'), "an unknown protocol"},
  };
  std::vector<Socket> sockets;
  for (const auto& [bytes, name] : cases) {
    Listen();  // Each with a log of its own, which has not begun to keep lines back.
    log_.clear();
    Socket socket = CallBare();
    Say(socket, bytes);
    ASSERT_TRUE(AwaitLog());
    EXPECT_THAT(log_[0], HasSubstr(absl::StrCat("speaks another protocol (", name, ")")));
    // It is closed, without a byte of an answer.
    loop_.Settle();
    char byte;
    boost::system::error_code error;
    EXPECT_EQ(socket.read_some(boost::asio::buffer(&byte, 1), error), 0u);
    EXPECT_TRUE(error);
  }
  EXPECT_THAT(accepted_, IsEmpty());
  ExpectServed();
}

TEST_F(TlsTransportHostileTest, TlsOfAStranger_Refused) {
  Listen();
  namespace ssl = boost::asio::ssl;
  for (const auto method : {ssl::context::tlsv13_client, ssl::context::tlsv12_client}) {
    log_.clear();
    ssl::context context(method);
    ssl::stream<Socket> stream(CallBare(), context);
    std::optional<boost::system::error_code> done;
    stream.async_handshake(ssl::stream_base::client,
                           [&done](const boost::system::error_code& error) { done = error; });
    ASSERT_TRUE(loop_.RunUntil([&done] { return done.has_value(); }));
    EXPECT_TRUE(*done);
    ASSERT_TRUE(AwaitLog());
    EXPECT_THAT(log_[0], HasSubstr("speaks another protocol (TLS of something else"));
  }
  EXPECT_THAT(accepted_, IsEmpty());
  ExpectServed();
}

TEST_F(TlsTransportHostileTest, TlsThenGarbage_Refused) {
  using std::string_literals::operator""s;
  Listen();
  for (const std::string& bytes :
       {"\x16\x03\x01\xff\xff"s + std::string(70'000, '\xff'),
        "\x16\x03\x01\x00\x05\x01\xff\xff\xff\x00"s, "\x16"s + std::string(300, '\0')}) {
    log_.clear();
    Socket socket = CallBare();
    boost::system::error_code reset;
    boost::asio::write(socket, boost::asio::buffer(bytes), reset);
    ASSERT_TRUE(AwaitLog());
    EXPECT_THAT(log_[0], HasSubstr("broke off the handshake"));
    socket.close();
  }
  ExpectServed();
}

TEST_F(TlsTransportHostileTest, PortScan_NoSlotFewLinesAndCounted) {
  Listen();
  constexpr int kScans = 1000;
  for (int i = 0; i < kScans; ++i) {
    Socket socket = CallBare();
    if (i % 2 == 1) {
      // Closed by a reset.
      socket.set_option(boost::asio::socket_base::linger(true, 0));
    }
    socket.close();
    if (i % 50 == 0) loop_.Settle();
  }
  ExpectServed();
  EXPECT_THAT(accepted_, IsEmpty());
  listener_->Close();
  loop_.Stop();
  listener_.reset();
  // The first three, and how many more there were.
  EXPECT_THAT(log_, SizeIs(4));
  EXPECT_THAT(log_.back(), HasSubstr(absl::StrCat("turned away ", kScans - 3, " more")));
}

TEST_F(TlsTransportHostileTest, Slowloris_DeadlineIsForAllBytesTogether) {
  Listen({.handshake_timeout = absl::Seconds(10)});
  Socket silent = CallBare();
  Socket slow = CallBare();
  loop_.Settle();
  // The beginning of a ClientHello of 512 bytes, one a second.
  std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (int second = 0; second < 9; ++second) {
    Say(slow, hello.substr(second, 1));
    loop_.timers.Jump(absl::Seconds(1));
    loop_.Settle();
    EXPECT_THAT(log_, IsEmpty()) << "after " << second + 1 << " s";
  }
  ExpectServed();
  loop_.timers.Jump(absl::Seconds(1));
  ASSERT_TRUE(AwaitLog(2));
  EXPECT_THAT(log_[0], HasSubstr("took too long"));
  EXPECT_THAT(log_[1], HasSubstr("took too long"));
  ExpectServed();
}

TEST_F(TlsTransportHostileTest, AuthenticatedButSilent_DeadlineExceeded) {
  Listen();
  Meet();
  const auto received = Start(coordinator_->Receive());
  loop_.Settle();
  loop_.timers.Jump(absl::Seconds(10));
  ASSERT_TRUE(Await(received));
  EXPECT_TRUE(absl::IsDeadlineExceeded(received->status())) << received->status();
}

TEST_F(TlsTransportHostileTest, EveryPlaceHeldBySilence_OldestGivesWay) {
  Listen({.handshakes = 4, .patience = absl::Seconds(1)});
  std::vector<Socket> flood;
  for (int i = 0; i < 6; ++i) flood.push_back(CallBare());
  loop_.Settle();
  auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  const auto honest = Start(connector->Connect({address()}, InTen()));
  loop_.Settle();
  EXPECT_FALSE(honest.has_value());
  // After a second the first four make room for the two that waited, and for the agent.
  loop_.timers.Jump(absl::Seconds(1));
  ASSERT_TRUE(Await(honest));
  EXPECT_TRUE(honest->ok()) << honest->status();
  EXPECT_THAT(log_, Contains(HasSubstr("gave way")));
}

TEST_F(TlsTransportHostileTest, RunIdWithControlCharacters_HarmlessInTheLog) {
  Listen();
  // The connector would refuse to send such an identity: a run id with printable trickery is the
  // worst that it sends; the rest is tested with the log itself.
  EXPECT_FALSE(Call(RunSecret("x'%s%n\\n\"${HOME}")).ok());
  ASSERT_TRUE(AwaitLog());
  for (char c : log_[0]) EXPECT_TRUE(c >= ' ' && c <= '~') << log_[0];
}

// What the agent said through a relay is said again later.
TEST_F(TlsTransportHostileTest, RecordedSession_ReplayedIsRefused) {
  Listen();
  std::string recorded;
  on_agent_bytes_ = [&recorded](std::span<char> bytes) {
    recorded.append(bytes.data(), bytes.size());
  };
  MeetThroughRelay();
  ASSERT_TRUE(agent_->Send(FrameBytes(1, "report")).ok());
  const auto received = Start(coordinator_->Receive());
  while (!received.has_value()) Relay();
  ASSERT_TRUE(received->ok()) << received->status();

  Socket replayed = CallBare();
  Say(replayed, recorded);
  ASSERT_TRUE(AwaitLog());
  EXPECT_THAT(log_[0], HasSubstr("broke off the handshake"));
  EXPECT_THAT(accepted_, IsEmpty());
}

}  // namespace
}  // namespace autobatch
