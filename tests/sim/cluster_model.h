#ifndef TESTS_SIM_CLUSTER_MODEL_H_
#define TESTS_SIM_CLUSTER_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/core/coordinator_config.h"
#include "tests/sim/agent_host.h"
#include "tests/sim/coordinator_host.h"
#include "tests/sim/ledger.h"
#include "tests/sim/network.h"
#include "tests/sim/reduce_board.h"
#include "tests/sim/sabotage.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

struct ClusterOptions {
  uint64_t seed = 1;
  int agents = 3;
  int devices = 2;
  // run_id, min_nodes and max_nodes are filled in where they are left as they are: all agents.
  CoordinatorConfig coordinator;
  // Absent: every batch is its own function of the device and of the round, so that a report of
  // another round shows.
  std::function<int64_t(absl::string_view uuid, int64_t round)> batch;
  // What the coordinator's wall clock shows; empty: always the same.
  std::function<std::string()> wall_clock;
  Sabotage sabotage = Sabotage::kNone;
};

// A whole cluster on virtual time: one coordinator, agents, the network between them, and the
// ledger that sees everything. Production cores, messages, frames, records and seals; only clock,
// links, disks and devices are models.
class ClusterModel {
 public:
  explicit ClusterModel(ClusterOptions options);

  void Start();

  // Another agent, not started yet; a stranger does not know the secret.
  AgentHost& AddAgent(bool stranger = false);

  // Lets time pass.
  void Run(absl::Duration duration);
  // Lets time pass until it holds, at most so long; whether it does.
  bool RunUntil(const std::function<bool()>& holds, absl::Duration limit);

  // Every agent that runs trains on the newest committed record, and that is of these agents.
  bool Agreed() const;
  // The agents that train on the newest committed record.
  std::vector<std::string> Training() const;
  // The record that was committed last.
  std::optional<Record> LastRecord() const;

  VirtualTime& time() { return time_; }
  Network& network() { return network_; }
  Random& random() { return random_; }
  Ledger& ledger() { return ledger_; }
  CoordinatorHost& coordinator() { return *coordinator_; }
  AgentHost& agent(int index) { return *agents_[static_cast<size_t>(index)]; }
  int agents() const { return static_cast<int>(agents_.size()); }

  // What was said, with the virtual time of it.
  std::string Log() const;
  bool Said(absl::string_view text) const;

 private:
  void Note(const std::string& who, const std::string& text);

  const ClusterOptions options_;
  VirtualTime time_;
  const SteadyTime start_ = time_.Now();
  Random random_;
  Network network_;
  ReduceBoard reductions_;
  std::vector<std::string> log_;
  Ledger ledger_;
  DigestFunction digest_;
  std::unique_ptr<CoordinatorHost> coordinator_;
  std::vector<std::unique_ptr<AgentHost>> agents_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_CLUSTER_MODEL_H_
