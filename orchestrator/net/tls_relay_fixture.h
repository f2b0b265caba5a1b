#ifndef ORCHESTRATOR_NET_TLS_RELAY_FIXTURE_H_
#define ORCHESTRATOR_NET_TLS_RELAY_FIXTURE_H_

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "gtest/gtest.h"
#include "orchestrator/net/tls_fixture.h"

namespace autobatch {

// Somebody between the agent and the coordinator, who sees what the agent says and may change it.
class TlsRelayFixture : public TlsFixture {
 protected:
  // As Meet(), with everything going through the relay.
  void MeetThroughRelay() {
    boost::asio::ip::tcp::acceptor relay(loop_.io, {boost::asio::ip::address_v4::loopback(), 0});
    connector_ = MakeTlsConnector(loop_.tasks, loop_.timers, RunSecret()).value();
    auto made = Start(connector_->Connect({{"127.0.0.1", relay.local_endpoint().port()}}, InTen()));
    loop_.Settle();
    agent_side_ = relay.accept();
    coordinator_side_ = CallBare();
    agent_side_->non_blocking(true);
    coordinator_side_->non_blocking(true);
    while (!made.has_value() || accepted_.empty()) Relay();
    ASSERT_TRUE(made->ok()) << made->status();
    agent_ = *made.Take();
    coordinator_ = std::move(accepted_.back());
    accepted_.clear();
  }

  // Carries on what each of them has said.
  void Relay() {
    Carry(*agent_side_, *coordinator_side_, on_agent_bytes_);
    Carry(*coordinator_side_, *agent_side_, [](std::span<char>) {});
    loop_.Settle();
  }

  // Called with what the agent says, before it goes on.
  std::function<void(std::span<char>)> on_agent_bytes_ = [](std::span<char>) {};

 private:
  static void Carry(Socket& from, Socket& to, const std::function<void(std::span<char>)>& see) {
    std::array<char, 4096> bytes;
    boost::system::error_code error;
    const size_t size = from.read_some(boost::asio::buffer(bytes), error);
    if (error) return;
    see(std::span(bytes.data(), size));
    to.write_some(boost::asio::buffer(bytes, size), error);
  }

  std::optional<Socket> agent_side_;
  std::optional<Socket> coordinator_side_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_RELAY_FIXTURE_H_
