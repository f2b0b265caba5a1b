// Agents that agree through etcd, without authentication, by its JSON gateway over connections that
// stay: every agent puts its batch, one takes the minimum of all and puts it, everybody gets it.
// Says how long it took.
//
//   etcd_agents PORT NODES

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/net/descriptor_limit.h"
#include "tests/benchmarks/await_go.h"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

struct Cluster {
  asio::io_context io{1};
  uint16_t port = 0;
  size_t nodes = 0;
  size_t put = 0;
  size_t got = 0;
  std::chrono::steady_clock::time_point begun;
  // Cancelled when the minimum is there: agents need not ask for it in vain.
  asio::steady_timer agreed{io, std::chrono::steady_clock::time_point::max()};
};

// One agent's connection to etcd.
struct Client {
  explicit Client(asio::io_context& io) : socket(io) {}

  asio::awaitable<std::string> Call(std::string call, std::string body) {
    http::request<http::string_body> request(http::verb::post, "/v3/kv/" + call, 11,
                                             std::move(body));
    request.set(http::field::host, "127.0.0.1");
    request.prepare_payload();
    co_await http::async_write(socket, request, asio::use_awaitable);
    http::response_parser<http::string_body> parser;
    parser.body_limit(uint64_t{64} << 20);
    co_await http::async_read(socket, buffer, parser, asio::use_awaitable);
    if (parser.get().result() != http::status::ok) {
      std::fprintf(stderr, "etcd: %s\n", parser.get().body().c_str());
      std::abort();
    }
    co_return std::move(parser.get().body());
  }

  asio::awaitable<void> Put(std::string key, int64_t value) {
    co_await Call("put", absl::StrCat(R"({"key":")", absl::Base64Escape(key), R"(","value":")",
                                      absl::Base64Escape(absl::StrCat(value)), R"("})"));
  }

  // The least number under any key from `first` up to `end`; of one key where `end` is empty.
  asio::awaitable<int64_t> Minimum(std::string first, std::string end) {
    std::string body = absl::StrCat(R"({"key":")", absl::Base64Escape(first), R"(")");
    if (!end.empty()) {
      absl::StrAppend(&body, R"(,"range_end":")", absl::Base64Escape(end), R"(")");
    }
    const boost::json::value reply = boost::json::parse(co_await Call("range", body + "}"));
    int64_t minimum = INT64_MAX;
    for (const boost::json::value& pair : reply.at("kvs").as_array()) {
      std::string value;
      absl::Base64Unescape(std::string(pair.at("value").as_string()), &value);
      minimum = std::min<int64_t>(minimum, std::stoll(value));
    }
    co_return minimum;
  }

  tcp::socket socket;
  boost::beast::flat_buffer buffer;
};

asio::awaitable<void> Agent(Cluster& cluster, size_t node) {
  Client client(cluster.io);
  co_await client.socket.async_connect({asio::ip::address_v4::loopback(), cluster.port},
                                       asio::use_awaitable);
  client.socket.set_option(tcp::no_delay(true));
  co_await client.Put(absl::StrCat("batch/", node), 32);
  if (++cluster.put == cluster.nodes) {
    co_await client.Put("minimum", co_await client.Minimum("batch/", "batch0"));
    cluster.agreed.cancel();
  } else {
    co_await cluster.agreed.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (co_await client.Minimum("minimum", "") != 32) std::abort();
  if (++cluster.got < cluster.nodes) co_return;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - cluster.begun;
  std::printf("seconds %.6f\n", taken.count());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  autobatch::RaiseDescriptorLimit();
  Cluster cluster;
  cluster.port = static_cast<uint16_t>(std::atoi(argv[1]));
  cluster.nodes = std::strtoul(argv[2], nullptr, 10);
  autobatch::AwaitGo();
  cluster.begun = std::chrono::steady_clock::now();
  for (size_t node = 0; node < cluster.nodes; ++node) {
    asio::co_spawn(cluster.io, Agent(cluster, node), asio::detached);
  }
  cluster.io.run();
  std::getchar();
}
