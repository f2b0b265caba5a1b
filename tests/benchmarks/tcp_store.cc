// LibTorch's own store doing the bare equivalent of a round, without authentication: every agent
// connects and sets its batch, one takes the minimum of all and sets it, everybody gets it.
//
//   tcp_store serve            says where it listens
//   tcp_store agents NODES PORT   says how long it took; keeps its connections until its input ends

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "orchestrator/net/descriptor_limit.h"
#include "tests/benchmarks/await_go.h"

// LibTorch looks up the name of every peer to write it into its log. Where there is no DNS this
// takes seconds, which are none of the store's: here names are numbers.
extern "C" int getnameinfo(const sockaddr* address, socklen_t size, char* host, socklen_t host_size,
                           char* service, socklen_t service_size, int flags) {
  if (host_size > 0) std::snprintf(host, host_size, "127.0.0.1");
  if (service_size > 0) std::snprintf(service, service_size, "0");
  return 0;
}

namespace {

using Bytes = std::vector<uint8_t>;

Bytes BytesOf(int64_t number) {
  const std::string text = std::to_string(number);
  return {text.begin(), text.end()};
}

// As many as two cores keep busy; more only wait for each other.
constexpr size_t kThreads = 4;

// Calls `step` for all agents, some at a time: a store's calls block.
template <typename Step>
void ForAll(size_t nodes, Step step) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::min(kThreads, nodes); ++t) {
    threads.emplace_back([&next, nodes, &step] {
      for (size_t i = next++; i < nodes; i = next++) step(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Agree(size_t nodes, uint16_t port) {
  autobatch::AwaitGo();
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<c10d::TCPStore>> stores(nodes);
  ForAll(nodes, [&](size_t i) {
    c10d::TCPStoreOptions options;
    options.port = port;
    options.waitWorkers = false;
    stores[i] = std::make_unique<c10d::TCPStore>("127.0.0.1", options);
    stores[i]->set("batch/" + std::to_string(i), BytesOf(32));
  });
  std::vector<std::string> keys;
  for (size_t i = 0; i < nodes; ++i) keys.push_back("batch/" + std::to_string(i));
  int64_t minimum = INT64_MAX;
  for (const Bytes& value : stores[0]->multiGet(keys)) {
    minimum = std::min<int64_t>(minimum, std::stoll(std::string(value.begin(), value.end())));
  }
  stores[0]->set("minimum", BytesOf(minimum));
  ForAll(nodes, [&](size_t i) {
    if (stores[i]->get("minimum") != BytesOf(32)) std::abort();
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  std::printf("seconds %.6f\n", taken.count());
  std::fflush(stdout);
  std::getchar();
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  autobatch::RaiseDescriptorLimit();
  if (std::string(argv[1]) == "agents") {
    Agree(std::strtoul(argv[2], nullptr, 10), static_cast<uint16_t>(std::atoi(argv[3])));
  }
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const c10d::TCPStore store("127.0.0.1", options);
  std::printf("port %d\n", store.getPort());
  std::fflush(stdout);
  std::getchar();
  std::_Exit(0);
}
