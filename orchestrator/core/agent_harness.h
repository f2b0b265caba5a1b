#ifndef ORCHESTRATOR_CORE_AGENT_HARNESS_H_
#define ORCHESTRATOR_CORE_AGENT_HARNESS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "orchestrator/core/agent_core.h"
#include "orchestrator/core/take_last.h"

namespace autobatch {

// Reads the records that TestRecord() of coordinator_harness.h makes, and "round-N-…" in general.
absl::StatusOr<CheckedRecord> CheckTestRecord(absl::string_view text);

// An agent "a" of run "r" on a clock that only the test moves, and what it wanted done.
class AgentHarness {
 public:
  explicit AgentHarness(AgentConfig config = TestConfig());

  static AgentConfig TestConfig();

  void Give(const AgentEvent& event);
  // A message of the coordinator; the run is filled in.
  void Say(Message message);
  // Time passes; every heartbeat is answered if `answered`.
  void Pass(absl::Duration duration, bool answered = false);
  // Connected and welcomed.
  void BecomeMember();
  // The probe ends with this batch for its device.
  void Probed(int64_t batch = 8);
  // As far as a prepared, or committed, record of `round`.
  void Prepare(int64_t round);
  void Commit(int64_t round);
  static std::string Digest(int64_t round);
  static autobatch::Prepare PrepareOf(int64_t round);

  // The last action of this kind since the last call, if any.
  template <typename T>
  std::optional<T> Wanted() {
    return TakeLast<T>(actions);
  }

  // The last message of this kind that it sent since the last call, if any.
  template <typename T>
  std::optional<T> Sent() {
    return TakeLast<T>(sent);
  }

  SteadyTime now{};
  std::unique_ptr<AgentCore> core;
  std::vector<AgentAction> actions;  // all but frames, lines and the end
  std::vector<Message> sent;
  std::string said;
  std::optional<agent::Finished> finished;

 private:
  void Take(std::vector<AgentAction> taken);

  std::vector<int64_t> heartbeats_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGENT_HARNESS_H_
