#ifndef ORCHESTRATOR_SERVICE_SERVICE_FIXTURE_H_
#define ORCHESTRATOR_SERVICE_SERVICE_FIXTURE_H_

#include <stdlib.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/net/memory_transport.h"
#include "orchestrator/net/test_loop.h"
#include "orchestrator/service/agent_service.h"
#include "orchestrator/service/coordinator_service.h"
#include "orchestrator/service/node_prober.h"

namespace autobatch {

// Answers at once.
class FakeProber final : public NodeProber {
 public:
  ProbeAnswer Probe(std::optional<int64_t> communicator_bytes) override { return answer; }
  void Cancel(const std::string& why) override { cancelled = true; }

  ProbeAnswer answer;
  std::atomic<bool> cancelled = false;
};

// A coordinator and agents in one process: the real shells and cores, real files, links of memory,
// and time that passes only when a test says so.
class ServiceFixture : public testing::Test {
 protected:
  struct Agent {
    FakeProber prober;
    std::unique_ptr<Connector> connector;
    std::vector<std::string> said;
    std::vector<int64_t> commits;
    std::string record_path;
    std::string socket_path;
    // After the prober and the connector, which it uses.
    std::unique_ptr<AgentService> service;
    std::optional<ServiceOutcome> outcome;
  };

  ServiceFixture() {
    // Test folders are too long for Unix sockets.
    char folder[] = "/tmp/abXXXXXX";
    folder_ = mkdtemp(folder);
    config_.run_id = "job";
    config_.min_nodes = 2;
    config_.max_nodes = 3;
  }

  ~ServiceFixture() override {
    if (coordinator_ != nullptr && !outcome_.has_value())
      coordinator_->Drain("the test is over", 0);
    for (auto& [name, agent] : agents_) {
      if (!agent.outcome.has_value()) agent.service->Drain("the test is over", false, 143);
    }
    RunUntil([this] { return AllOver(); });
    loop_.Stop();
    pool_.join();
    std::filesystem::remove_all(folder_);
  }

  static std::string Digest(absl::string_view text) {
    return absl::StrCat(absl::Hex(std::hash<std::string>()(std::string(text)), absl::kZeroPad16));
  }

  SealedFile StateFile() const { return SealedFile(folder_ + "/coordinator.state", Digest); }

  void StartCoordinator() {
    auto restored = LoadState(StateFile(), config_.run_id);
    ASSERT_TRUE(restored.ok()) << restored.status();
    listener_ = network_.Listen(kAddress).value();
    CoordinatorHooks hooks;
    hooks.say = [this](absl::string_view text) { said_.emplace_back(text); };
    hooks.round_ended = [this](const coordinator::RoundEnded& ended) { ended_.push_back(ended); };
    hooks.commit_confirmed = [this](const coordinator::CommitConfirmed& confirmed) {
      confirmed_.push_back(confirmed);
    };
    outcome_.reset();
    coordinator_ = std::make_unique<CoordinatorService>(
        CoordinatorServiceOptions{
            .config = config_,
            .make_record = MakeRecordMaker({.digest = Digest, .created = [] { return "now"; }}),
            .state = StateFile(),
            .hooks = std::move(hooks)},
        *std::move(restored), loop_.io.get_executor(), loop_.timers, *listener_,
        pool_.get_executor());
    Spawn(coordinator_->Run(), outcome_);
  }

  Agent& StartAgent(const std::string& name, int64_t batch) {
    Agent& agent = agents_[name];
    agent.prober.answer.devices = {
        {.uuid = "GPU-" + name,
         .address = "cuda:0",
         .name = "card",
         .status = batch > 0 ? ResultStatus::kConfirmed : ResultStatus::kFailed,
         .batch = batch,
         .message = batch > 0 ? "" : "it does not train"}};
    agent.connector = network_.MakeConnector(name, "job");
    const std::string folder = folder_ + "/" + name;
    std::filesystem::create_directories(folder);
    agent.record_path = folder + "/record.json";
    agent.socket_path = folder + "/agent.sock";
    AgentServiceOptions options{.coordinator = {kAddress},
                                .digest = Digest,
                                .record_path = agent.record_path,
                                .workers = WorkerServerOptions{.path = agent.socket_path}};
    options.config.join_timeout = absl::Seconds(30);
    options.config.rejoin_timeout = absl::Seconds(30);
    AgentHello& hello = options.config.hello;
    hello.run_id = "job";
    hello.agent = name;
    hello.incarnation = absl::StrCat("start", ++starts_);
    hello.boot_id = name;
    hello.devices = {{.uuid = "GPU-" + name, .name = "card"}};
    hello.config_digest = "c";
    options.hooks.say = [&agent](absl::string_view text) { agent.said.emplace_back(text); };
    options.hooks.committed = [&agent](const Record& record) {
      agent.commits.push_back(record.round);
    };
    agent.outcome.reset();
    agent.service = std::make_unique<AgentService>(std::move(options),
                                                   AgentParts{.io = loop_.io,
                                                              .timers = loop_.timers,
                                                              .connector = *agent.connector,
                                                              .prober = agent.prober,
                                                              .file_pool = pool_.get_executor(),
                                                              .work_pool = pool_.get_executor()});
    EXPECT_TRUE(agent.service->Start().ok());
    Spawn(agent.service->Run(), agent.outcome);
    return agent;
  }

  void Spawn(boost::asio::awaitable<ServiceOutcome> run, std::optional<ServiceOutcome>& outcome) {
    boost::asio::co_spawn(loop_.io, std::move(run),
                          [&outcome](const std::exception_ptr& broken, ServiceOutcome ended) {
                            EXPECT_FALSE(broken);
                            outcome = std::move(ended);
                          });
  }

  // Lets time pass, bit by bit, until the condition holds; files are written meanwhile.
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 20000 && !done(); ++i) {
      loop_.timers.Advance(absl::Milliseconds(100));
      loop_.io.restart();
      loop_.io.run_one_for(std::chrono::microseconds(300));
    }
    EXPECT_TRUE(done()) << "nothing comes of it";
  }

  void RunUntilCommitted(int64_t round) {
    RunUntil([&] { return !confirmed_.empty() && confirmed_.back().round >= round; });
  }

  bool AllOver() const {
    for (const auto& [name, agent] : agents_) {
      if (!agent.outcome.has_value()) return false;
    }
    return coordinator_ == nullptr || outcome_.has_value();
  }

  const HostPort kAddress{"coordinator", 1};
  std::string folder_;
  CoordinatorConfig config_;
  boost::asio::thread_pool pool_{1};
  TestLoop loop_;
  MemoryNetwork network_{loop_.tasks, loop_.timers};
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<CoordinatorService> coordinator_;
  std::optional<ServiceOutcome> outcome_;
  std::vector<std::string> said_;
  std::vector<coordinator::RoundEnded> ended_;
  std::vector<coordinator::CommitConfirmed> confirmed_;
  std::map<std::string, Agent> agents_;

 private:
  int starts_ = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_SERVICE_FIXTURE_H_
