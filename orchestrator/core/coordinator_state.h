#ifndef ORCHESTRATOR_CORE_COORDINATOR_STATE_H_
#define ORCHESTRATOR_CORE_COORDINATOR_STATE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

inline constexpr char kCoordinatorStateSchema[] = "autobatch.coordinator_state.v1";

// A member of the committed round.
struct StateMember {
  std::string agent;
  std::string incarnation;
};
BOOST_DESCRIBE_STRUCT(StateMember, (), (agent, incarnation))

// What a coordinator must remember over a restart: rounds that were used never come again, and a
// committed record stands. It is on the disk before anybody hears of what it says.
struct CoordinatorState {
  std::string schema = kCoordinatorStateSchema;
  std::string run_id;
  // The last round that was begun.
  int64_t round = 0;
  // The last round that was committed, its record's digest, and who had prepared it. 0: none.
  int64_t committed_round = 0;
  std::string committed_digest;
  std::vector<StateMember> members;
  // What that record was asked for with (CoordinatorConfig's). 0 and empty: an older version wrote
  // this, and it is not known.
  int64_t min_nodes = 0;
  int64_t max_nodes = 0;
  std::vector<NamedValue> options;
};
BOOST_DESCRIBE_STRUCT(CoordinatorState, (),
                      (schema, run_id, round, committed_round, committed_digest, members, min_nodes,
                       max_nodes, options))

// Whether a state that was read is one that a coordinator of this run wrote. InvalidArgument names
// the field, FailedPrecondition the other run.
absl::Status ValidateState(const CoordinatorState& state, absl::string_view run_id);

// Reads what ToJson() wrote, and validates it. Errors of both.
absl::StatusOr<CoordinatorState> ReadState(absl::string_view json, absl::string_view run_id);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATOR_STATE_H_
