// The least that could do: Asio, TLS 1.3 with an external key; every agent shakes hands, reports,
// and is answered with the minimum once all have reported. What the cluster benchmark divides by.
//
//   sketch serve NODES      says where it listens
//   sketch agents NODES PORT   says how long it took; keeps its connections until its input ends

#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "orchestrator/net/descriptor_limit.h"
#include "tests/benchmarks/await_go.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Stream = asio::ssl::stream<tcp::socket>;

constexpr char kKey[] = "thirty-two bytes of a shared key";
constexpr unsigned kKeySize = 32;
// As many bytes as our report of eight devices has.
constexpr size_t kReport = 2048;

struct Sketch {
  explicit Sketch(const SSL_METHOD* method) : context(SSL_CTX_new(method)) {
    SSL_CTX* const tls = context.native_handle();
    SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_num_tickets(tls, 0);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_psk_server_callback(tls, [](SSL*, const char*, unsigned char* key, unsigned) {
      std::memcpy(key, kKey, kKeySize);
      return kKeySize;
    });
    SSL_CTX_set_psk_client_callback(
        tls, [](SSL*, const char*, char* identity, unsigned size, unsigned char* key, unsigned) {
          std::snprintf(identity, size, "sketch");
          std::memcpy(key, kKey, kKeySize);
          return kKeySize;
        });
  }

  asio::io_context io{1};
  asio::ssl::context context;
  std::list<Stream> streams;
  size_t done = 0;
};

// ---- the coordinator

asio::awaitable<void> Answer(Stream& stream, const int64_t& minimum) {
  co_await asio::async_write(stream, asio::buffer(&minimum, sizeof minimum), asio::use_awaitable);
}

asio::awaitable<void> Serve(Sketch& sketch, Stream& stream, size_t nodes, int64_t& minimum) {
  stream.next_layer().set_option(tcp::no_delay(true));
  co_await stream.async_handshake(Stream::server, asio::use_awaitable);
  std::string report(kReport, '\0');
  co_await asio::async_read(stream, asio::buffer(report), asio::use_awaitable);
  minimum = std::min<int64_t>(minimum, std::atoll(report.c_str()));
  if (++sketch.done < nodes) co_return;
  for (Stream& each : sketch.streams) {
    asio::co_spawn(sketch.io, Answer(each, minimum), asio::detached);
  }
}

asio::awaitable<void> Accept(Sketch& sketch, tcp::acceptor& acceptor, size_t nodes,
                             int64_t& minimum) {
  while (true) {
    Stream& stream = sketch.streams.emplace_back(
        co_await acceptor.async_accept(asio::use_awaitable), sketch.context);
    asio::co_spawn(sketch.io, Serve(sketch, stream, nodes, minimum), asio::detached);
  }
}

// ---- the agents

asio::awaitable<void> Report(Sketch& sketch, Stream& stream, uint16_t port, size_t nodes,
                             std::chrono::steady_clock::time_point begun) {
  co_await stream.next_layer().async_connect({asio::ip::address_v4::loopback(), port},
                                             asio::use_awaitable);
  stream.next_layer().set_option(tcp::no_delay(true));
  co_await stream.async_handshake(Stream::client, asio::use_awaitable);
  std::string report = "32";
  report.resize(kReport);
  co_await asio::async_write(stream, asio::buffer(report), asio::use_awaitable);
  int64_t minimum = 0;
  co_await asio::async_read(stream, asio::buffer(&minimum, sizeof minimum), asio::use_awaitable);
  if (minimum != 32) std::abort();
  if (++sketch.done < nodes) co_return;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  std::printf("seconds %.6f\n", taken.count());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  autobatch::RaiseDescriptorLimit();
  const bool serving = std::string(argv[1]) == "serve";
  const size_t nodes = std::strtoul(argv[2], nullptr, 10);
  Sketch sketch(serving ? TLS_server_method() : TLS_client_method());
  tcp::acceptor acceptor(sketch.io);
  int64_t minimum = INT64_MAX;
  if (serving) {
    acceptor.open(tcp::v4());
    acceptor.bind({asio::ip::address_v4::loopback(), 0});
    acceptor.listen();
    asio::co_spawn(sketch.io, Accept(sketch, acceptor, nodes, minimum), asio::detached);
    std::printf("port %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
  } else {
    autobatch::AwaitGo();
    const auto begun = std::chrono::steady_clock::now();
    const auto port = static_cast<uint16_t>(std::atoi(argv[3]));
    for (size_t i = 0; i < nodes; ++i) {
      Stream& stream = sketch.streams.emplace_back(sketch.io, sketch.context);
      asio::co_spawn(sketch.io, Report(sketch, stream, port, nodes, begun), asio::detached);
    }
  }
  asio::posix::stream_descriptor input(sketch.io, dup(STDIN_FILENO));
  std::array<char, 1> byte{};
  input.async_read_some(asio::buffer(byte),
                        [](const boost::system::error_code&, size_t) { std::_Exit(0); });
  sketch.io.run();
}
