// All agents of the cluster benchmark in one process, each with a core, a connection and a record
// file of its own; their devices answer at once. Says how long it took from the first join until
// the last of them may start training, for the first round; then, for each line of its input, loses
// one agent and says the same of the round that follows. Ends with its input.
//
//   cluster_agents PORT NODES FOLDER

#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/net/descriptor_limit.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/net/tls_transport.h"
#include "orchestrator/service/agent_service.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/node_prober.h"
#include "tests/benchmarks/await_go.h"
#include "tests/benchmarks/cluster_run.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

class InstantProber final : public NodeProber {
 public:
  explicit InstantProber(int64_t node) : node_(node) {}
  ProbeAnswer Probe(std::optional<int64_t> communicator_bytes) override {
    return {.devices = BenchmarkOutcomes(node_), .communicator_bytes = communicator_bytes};
  }
  void Cancel(const std::string& why) override {}

 private:
  const int64_t node_;
};

// Another connector's connections, until its node dies.
class MortalConnector final : public Connector {
 public:
  explicit MortalConnector(Connector& real) : real_(real) {}

  asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> Connect(
      std::vector<HostPort> addresses, SteadyTime deadline) override {
    if (dead_) co_return absl::PermissionDeniedError("this node is dead");
    auto made = co_await real_.Connect(std::move(addresses), deadline);
    if (made.ok()) last_ = made->get();
    co_return made;
  }

  bool dead() const { return dead_; }
  void Die() {
    dead_ = true;
    last_->Close(absl::CancelledError("this node dies"));
  }

 private:
  Connector& real_;
  Connection* last_ = nullptr;
  bool dead_ = false;
};

struct Agent {
  Agent(int64_t node, Connector& real) : connector(real), prober(node) {}
  MortalConnector connector;
  InstantProber prober;
  std::unique_ptr<AgentService> service;
};

class Benchmark {
 public:
  Benchmark(uint16_t port, int64_t nodes, std::string folder)
      : coordinator_{"127.0.0.1", port}, folder_(std::move(folder)) {
    for (int64_t node = 0; node < nodes; ++node) AddAgent(node);
  }

  void Run() {
    AwaitGo();
    begun_ = timers_->Now();
    for (const auto& agent : agents_) {
      asio::co_spawn(
          io_, agent->service->Run(),
          [dying = &agent->connector](const std::exception_ptr& broken, const ServiceOutcome& end) {
            if (dying->dead()) return;
            std::printf("ended %s\n", end.text.c_str());
            std::fflush(stdout);
          });
    }
    AwaitWish();
    io_.run();
  }

 private:
  void AddAgent(int64_t node) {
    auto agent = std::make_unique<Agent>(node, *connector_);
    const std::string folder = absl::StrCat(folder_, "/", node);
    std::filesystem::create_directories(folder);
    AgentServiceOptions options{.config = {.hello = BenchmarkHello(node)},
                                .coordinator = {coordinator_},
                                .digest = digest_,
                                .record_path = folder + "/record.json"};
    options.hooks.committed = [this](const Record& record) { OnCommitted(record.round); };
    agent->service = std::make_unique<AgentService>(std::move(options),
                                                    AgentParts{.io = io_,
                                                               .timers = *timers_,
                                                               .connector = agent->connector,
                                                               .prober = agent->prober,
                                                               .file_pool = files_.get_executor(),
                                                               .work_pool = work_.get_executor()});
    if (!agent->service->Start().ok()) std::abort();
    agents_.push_back(std::move(agent));
  }

  void OnCommitted(int64_t round) {
    if (++committed_[round] != agents_.size() - lost_) return;
    std::printf("seconds %.6f\n", std::chrono::duration<double>(timers_->Now() - begun_).count());
    std::fflush(stdout);
  }

  void AwaitWish() {
    input_.async_read_some(asio::buffer(byte_),
                           [this](const boost::system::error_code& error, size_t) {
                             if (error) std::_Exit(0);
                             begun_ = timers_->Now();
                             agents_[agents_.size() - ++lost_]->connector.Die();
                             AwaitWish();
                           });
  }

  asio::io_context io_{1};
  asio::thread_pool files_{1};
  asio::thread_pool work_{1};
  TaskGroup tasks_{io_.get_executor()};
  const std::unique_ptr<Timers> timers_ = Timers::Real(io_.get_executor());
  const Credentials credentials_ = BenchmarkCredentials();
  const DigestFunction digest_ = MakeSeal(credentials_).value();
  const std::unique_ptr<Connector> connector_ =
      MakeTlsConnector(tasks_, *timers_, credentials_, {.speaks_first = true}).value();
  const HostPort coordinator_;
  const std::string folder_;
  std::vector<std::unique_ptr<Agent>> agents_;

  asio::posix::stream_descriptor input_{io_, dup(STDIN_FILENO)};
  std::array<char, 1> byte_{};
  SteadyTime begun_;
  size_t lost_ = 0;
  std::map<int64_t, size_t> committed_;
};

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  int port = 0;
  int64_t nodes = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[1], &port) || !absl::SimpleAtoi(argv[2], &nodes)) {
    return 2;
  }
  autobatch::RaiseDescriptorLimit();
  autobatch::Benchmark(static_cast<uint16_t>(port), nodes, argv[3]).Run();
}
