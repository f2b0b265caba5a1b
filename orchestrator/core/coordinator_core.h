#ifndef ORCHESTRATOR_CORE_COORDINATOR_CORE_H_
#define ORCHESTRATOR_CORE_COORDINATOR_CORE_H_

#include <memory>
#include <optional>
#include <vector>

#include "autobatch/base/clock.h"
#include "orchestrator/core/agreed_record.h"
#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/core/coordinator_state.h"

namespace autobatch {

class Coordination;

// The coordinator of one run: who is a member, and what they agree on, round by round. Rules only:
// it has no socket, file, thread or clock. Not thread-safe.
//
//   CoordinatorCore core(config, state_from_disk, make_record, clock.Now());
//   for (;;) {
//     event = ...wait until core.NextWake() for a frame, a connection, a written file...
//     for (CoordinatorAction& action : core.Handle(event, clock.Now())) Do(action);
//   }
//
//   phase       waits for                       until           then
//   joining     min_nodes; then the last call   join_timeout    opening; or the run ends
//   opening     the round's number on the disk                  collecting
//   collecting  everybody's report              report_timeout  reducing, or preparing
//   reducing    everybody's minimum by NCCL     reduce_timeout  preparing; or another attempt
//   preparing   everybody's record on disk      commit_timeout  committing
//   committing  the decision on the disk                        committed
//   committed   a loss, a late joiner           for ever        opening of the next round
//   over        nothing
//
// A member that is lost or leaves in joining or collecting is left out; from reducing to committing
// the round is aborted, and the next begins at once if enough nodes remain; a committed record
// stands. Agents that join in collecting take part, later ones in the next round. Until something
// was committed, reports are asked for in joining already.
class CoordinatorCore {
 public:
  // `restored` is the state that a former coordinator of this run left, if there was one: it goes
  // on from there, and the members of a committed record have `lost_after` heartbeats to come back
  // before they count as lost. Both are valid (ValidateConfig, ValidateState).
  CoordinatorCore(CoordinatorConfig config, std::optional<CoordinatorState> restored,
                  RecordMaker make_record, SteadyTime now);
  ~CoordinatorCore();

  std::vector<CoordinatorAction> Handle(const CoordinatorEvent& event, SteadyTime now);

  // When to say Woke at the latest; absent: only events can change anything.
  std::optional<SteadyTime> NextWake() const;

 private:
  std::unique_ptr<Coordination> coordination_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATOR_CORE_H_
