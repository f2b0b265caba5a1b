#include "orchestrator/net/tls_transport.h"

#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/test_loop.h"

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace asio = boost::asio;

SharedBytes Bytes(uint16_t type, std::string payload) {
  return std::make_shared<const std::string>(
      EncodeFrame({.type = type, .payload = std::move(payload)}).value());
}

SharedSecret RunSecret(const std::string& run_id = "run-1",
                       const std::string& secret = "0123456789abcdef") {
  return {run_id, Secret::FromBytes(secret).value()};
}

class TlsTransportTest : public ::testing::Test {
 protected:
  void TearDown() override { loop_.Stop(); }

  // Connects, and accepts on the other side.
  absl::Status Meet() {
    accepted_ = absl::UnknownError("nobody yet");
    loop_.tasks.Spawn("accept", AcceptOne(this));
    auto connected = loop_.Run(connector_->Connect({address()}, deadline()));
    if (!connected.ok()) return connected.status();
    agent_ = *std::move(connected);
    loop_.RunUntil([this] { return !absl::IsUnknown(accepted_.status()); });
    return accepted_.status();
  }

  void Listen(TlsListenOptions options = {}) {
    options.bind_address = "127.0.0.1";
    options.ports = {0, 0};
    options.log = [this](absl::string_view line) { log_.emplace_back(line); };
    listener_ = ListenTls(loop_.tasks, loop_.timers, RunSecret(), std::move(options)).value();
    connector_ = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
  }

  HostPort address() const { return listener_->address(); }
  SteadyTime deadline() const { return Add(loop_.timers.Now(), absl::Seconds(10)); }
  Connection& coordinator() { return **accepted_; }

  static asio::awaitable<void> AcceptOne(TlsTransportTest* self) {
    self->accepted_ = co_await self->listener_->Accept();
  }

  TestLoop loop_;
  std::vector<std::string> log_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<Connection> agent_;
  absl::StatusOr<std::unique_ptr<Connection>> accepted_ = absl::UnknownError("nobody yet");
};

TEST_F(TlsTransportTest, Connect_SameSecretAndRun_FramesBothWays) {
  Listen();
  ASSERT_EQ(Meet(), absl::OkStatus());
  EXPECT_EQ(coordinator().peer().identity, "run-1");
  EXPECT_THAT(coordinator().peer().address, HasSubstr("127.0.0.1:"));
  ASSERT_TRUE(agent_->Send(Bytes(1, "hello")).ok());
  ASSERT_TRUE(agent_->Send(Bytes(2, "")).ok());
  auto first = loop_.Run(coordinator().Receive());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, (Frame{.type = 1, .payload = "hello"}));
  EXPECT_EQ(loop_.Run(coordinator().Receive())->type, 2);
  ASSERT_TRUE(coordinator().Send(Bytes(3, "welcome")).ok());
  EXPECT_EQ(loop_.Run(agent_->Receive())->payload, "welcome");
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(TlsTransportTest, Connect_WrongSecret_RefusedOnBothSides) {
  Listen();
  connector_ =
      MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret("run-1", "fedcba9876543210")).value();
  const absl::Status status = Meet();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(log_, Contains(HasSubstr("has another secret")));
}

}  // namespace
}  // namespace autobatch
