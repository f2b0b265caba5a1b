#ifndef ORCHESTRATOR_CORE_AGENT_CORE_H_
#define ORCHESTRATOR_CORE_AGENT_CORE_H_

#include <memory>
#include <optional>
#include <vector>

#include "autobatch/base/clock.h"
#include "orchestrator/core/agent_config.h"
#include "orchestrator/core/agent_io.h"
#include "orchestrator/core/agreed_record.h"

namespace autobatch {

class AgentConduct;

// One agent: finds the coordinator, reports, and keeps the record that training may start on. Rules
// only: it has no socket, file, thread or clock. Not thread-safe.
//
//   AgentCore core(config, check_record, clock.Now());
//   for (action : core.Start(clock.Now())) Do(action);
//   for (;;) { ...as for CoordinatorCore... }
//
//   phase      waits for                             until                       then
//   away       the connection                        join, lost, rejoin_timeout  greeting
//   greeting   the answer to its hello               hello_timeout               member, or away
//   member     a round; signs of the coordinator     its heartbeats fail         away
//   over       nothing
//
// and, within a round, whether it is away or not: probing -> reported -> (reducing) -> writing ->
// prepared -> confirming -> committed. Being away does not undo any of these; only an Abort, a
// later round, or being given up does. Training may start after CommittedWritten, and on nothing
// else.
class AgentCore {
 public:
  // `config` is valid.
  AgentCore(AgentConfig config, RecordChecker check_record, SteadyTime now);
  ~AgentCore();

  // The first actions.
  std::vector<AgentAction> Start(SteadyTime now);

  std::vector<AgentAction> Handle(const AgentEvent& event, SteadyTime now);

  // Whether training may start now on the record that was written last: it is committed, and the
  // coordinator has lately confirmed that this agent is a member (see Welcome::lease_ms), so that
  // no newer one is committed elsewhere. To be asked for every start, not only after an event. With
  // `once` there is no newer one, and the answer stays after the end.
  bool MayStart(SteadyTime now) const;

  // When to say Woke at the latest; absent: only events can change anything.
  std::optional<SteadyTime> NextWake() const;

 private:
  std::unique_ptr<AgentConduct> conduct_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGENT_CORE_H_
