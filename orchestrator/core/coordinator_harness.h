#ifndef ORCHESTRATOR_CORE_COORDINATOR_HARNESS_H_
#define ORCHESTRATOR_CORE_COORDINATOR_HARNESS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/take_last.h"

namespace autobatch {

// A record for tests: readable, its digest is its content.
absl::StatusOr<AgreedRecord> TestRecord(const RoundFacts& facts);

// A hello of an agent with `devices` devices named after it.
AgentHello TestHello(absl::string_view agent, int devices = 1);

// A coordinator on a clock that only the test moves, and what it has said to whom. States are
// written at once, unless `hold_writes`.
class CoordinatorHarness {
 public:
  // Run "r", two nodes, a last call of 5 s.
  static CoordinatorConfig TestConfig(int64_t min_nodes = 2, int64_t max_nodes = 2);

  explicit CoordinatorHarness(CoordinatorConfig config = TestConfig(),
                              std::optional<CoordinatorState> restored = std::nullopt,
                              RecordMaker make_record = TestRecord);

  // A new connection that says hello; its number.
  ConnectionId Join(const AgentHello& hello);
  ConnectionId Join(absl::string_view agent, int devices = 1) {
    return Join(TestHello(agent, devices));
  }
  // One after the other: const auto [a, b] = run.JoinAll("a", "b");
  template <typename... Agents>
  std::array<ConnectionId, sizeof...(Agents)> JoinAll(const Agents&... agents) {
    return {Join(agents)...};
  }

  // A message from a connection; run and round are filled in unless the message sets a round.
  void Say(ConnectionId connection, Message message);
  // A report of the same batch for each of the agent's devices.
  void Report(ConnectionId connection, int64_t batch);
  void Report(const std::vector<ConnectionId>& connections, int64_t batch);
  // Prepared or Committed with the digest that was sent last.
  void Prepare(ConnectionId connection);
  void Prepare(const std::vector<ConnectionId>& connections);
  void Commit(ConnectionId connection);
  void Commit(const std::vector<ConnectionId>& connections);
  // Everything that a round needs from these, all with one batch.
  void RunRound(const std::vector<ConnectionId>& connections, int64_t batch = 8);

  void Give(const CoordinatorEvent& event);
  void Break(ConnectionId connection) { Give(coordinator::Disconnected{connection, "reset"}); }
  // Time passes, beat by beat; `alive` send heartbeats meanwhile.
  void Pass(absl::Duration duration, const std::vector<ConnectionId>& alive = {});
  // Answers the writes that were held back.
  void Write(const absl::Status& status = absl::OkStatus());

  // The last message of this kind that was sent to the connection since the last call, if any.
  template <typename T>
  std::optional<T> Took(ConnectionId connection) {
    return TakeLast<T>(inbox[connection]);
  }

  SteadyTime now{};
  std::unique_ptr<CoordinatorCore> core;
  bool hold_writes = false;

  std::map<ConnectionId, std::vector<Message>> inbox;
  std::map<ConnectionId, std::string> closed;
  std::vector<coordinator::Persist> writes;
  std::vector<CoordinatorState> foreseen;
  std::vector<coordinator::Persist> held;
  std::vector<coordinator::RoundEnded> rounds;
  std::vector<coordinator::CommitConfirmed> confirmed;
  std::optional<coordinator::Finished> finished;
  std::string said;
  // Frames and their distinct bytes, of all connections.
  int64_t frames = 0;

 private:
  void Do(const CoordinatorAction& action);

  ConnectionId last_connection_ = 0;
  std::map<ConnectionId, AgentHello> hellos_;
  std::map<ConnectionId, int64_t> sequences_;
  std::map<ConnectionId, int64_t> rounds_;
  std::map<ConnectionId, std::string> digests_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATOR_HARNESS_H_
