#ifndef ORCHESTRATOR_NET_TLS_FIXTURE_H_
#define ORCHESTRATOR_NET_TLS_FIXTURE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "orchestrator/net/test_loop.h"
#include "orchestrator/net/tls_transport.h"

namespace autobatch {

// The bytes of a frame.
inline SharedBytes FrameBytes(uint16_t type, std::string payload = "") {
  return std::make_shared<const std::string>(
      EncodeFrame({.type = type, .payload = std::move(payload)}).value());
}

inline SharedSecret RunSecret(const std::string& run_id = "run-1",
                              const std::string& secret = "0123456789abcdef") {
  return {run_id, Secret::FromBytes(secret).value()};
}

// The result of a coroutine that runs aside; copies share it.
template <typename T>
class Pending {
 public:
  bool has_value() const { return result_->has_value(); }
  const T& operator*() const { return **result_; }
  const T* operator->() const { return &**result_; }
  void Set(T value) { result_->emplace(std::move(value)); }
  T Take() { return *std::move(*result_); }

 private:
  std::shared_ptr<std::optional<T>> result_ = std::make_shared<std::optional<T>>();
};

// A coordinator's listener on loopback, and what is needed to call it, rightly or wrongly.
class TlsFixture : public ::testing::Test {
 protected:
  using Made = absl::StatusOr<std::unique_ptr<Connection>>;
  using Socket = boost::asio::ip::tcp::socket;

  void TearDown() override { loop_.Stop(); }

  void Listen(TlsListenOptions options = {}, const Credentials& credentials = RunSecret()) {
    options.bind_address = "127.0.0.1";
    options.ports = {0, 0};
    options.log = [this](absl::string_view line) { log_.emplace_back(line); };
    auto listener = ListenTls(loop_.tasks, loop_.timers, credentials, std::move(options));
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    loop_.tasks.Spawn("accept", AcceptAll(this));
  }

  HostPort address() const { return listener_->address(); }
  SteadyTime InTen() const { return Add(loop_.timers.Now(), absl::Seconds(10)); }

  // Calls the listener with these credentials.
  Made Call(const Credentials& credentials = RunSecret(), TlsConnectOptions options = {}) {
    auto connector = MakeTlsConnector(loop_.tasks, loop_.timers, credentials, std::move(options));
    if (!connector.ok()) return connector.status();
    connector_ = *std::move(connector);
    return loop_.Run(connector_->Connect({address()}, InTen()));
  }

  // A pair of connected ends: agent_ and coordinator_.
  void Meet(StreamLimits limits = {}) {
    const size_t before = accepted_.size();
    Made made = Call(RunSecret(), {.stream = limits});
    ASSERT_TRUE(made.ok()) << made.status();
    agent_ = *std::move(made);
    ASSERT_TRUE(loop_.RunUntil([this, before] { return accepted_.size() > before; }));
    coordinator_ = std::move(accepted_.back());
    accepted_.pop_back();
  }

  // A TCP connection to the listener, without a word yet.
  Socket CallBare() {
    Socket socket(loop_.io);
    socket.connect({boost::asio::ip::make_address(address().host), address().port});
    return socket;
  }

  static void Say(Socket& socket, const std::string& bytes) {
    boost::asio::write(socket, boost::asio::buffer(bytes));
  }

  // Until the listener has written so many lines about refused peers.
  bool AwaitLog(size_t lines = 1) {
    return loop_.RunUntil([this, lines] { return log_.size() >= lines; });
  }

  // An ordinary agent is served as if nothing had happened.
  void ExpectServed() {
    Meet();
    ASSERT_NE(agent_, nullptr);
    EXPECT_TRUE(agent_->Send(FrameBytes(7, "still here")).ok());
    const auto frame = loop_.Run(coordinator_->Receive());
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->payload, "still here");
  }

  // Runs a coroutine aside; its result is there once it has ended.
  template <typename T>
  Pending<T> Start(boost::asio::awaitable<T> from) {
    Pending<T> result;
    loop_.tasks.Spawn("test", Store(std::move(from), result));
    return result;
  }

  template <typename T>
  bool Await(const Pending<T>& result) {
    return loop_.RunUntil([&result] { return result.has_value(); });
  }

  TestLoop loop_;
  std::vector<std::string> log_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Connection>> accepted_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<Connection> agent_;
  std::unique_ptr<Connection> coordinator_;

 private:
  static boost::asio::awaitable<void> AcceptAll(TlsFixture* self) {
    while (true) {
      Made made = co_await self->listener_->Accept();
      if (!made.ok()) co_return;
      self->accepted_.push_back(*std::move(made));
    }
  }

  template <typename T>
  static boost::asio::awaitable<void> Store(boost::asio::awaitable<T> from, Pending<T> into) {
    into.Set(co_await std::move(from));
  }
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_FIXTURE_H_
