#include "orchestrator/core/coordinator_state.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {

absl::Status ValidateState(const CoordinatorState& state, absl::string_view run_id) {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("coordinator state: ", what));
  };
  if (state.schema != kCoordinatorStateSchema) {
    return wrong(absl::StrCat("schema '", state.schema, "', not ", kCoordinatorStateSchema));
  }
  if (state.run_id != run_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("coordinator state: of run '", state.run_id, "', not ", run_id));
  }
  if (state.round < 0 || state.round >= kMaxRound) {
    return wrong(absl::StrCat("round ", state.round));
  }
  if (state.committed_round < 0 || state.committed_round > state.round) {
    return wrong(
        absl::StrCat("committed_round ", state.committed_round, " of round ", state.round));
  }
  if ((state.committed_round > 0) != !state.committed_digest.empty() ||
      (state.committed_round > 0) != !state.members.empty()) {
    return wrong("committed_round, committed_digest and members are there together or not at all");
  }
  std::set<absl::string_view> agents;
  for (const StateMember& member : state.members) {
    if (member.agent.empty() || member.incarnation.empty()) return wrong("a member has no name");
    if (!agents.insert(member.agent).second) {
      return wrong(absl::StrCat("member ", member.agent, " is there twice"));
    }
  }
  if (state.min_nodes < 0 || state.max_nodes < state.min_nodes) {
    return wrong(absl::StrCat("min_nodes ", state.min_nodes, " and max_nodes ", state.max_nodes));
  }
  for (const NamedValue& option : state.options) {
    if (option.name.empty()) return wrong("an option has no name");
  }
  return absl::OkStatus();
}

absl::StatusOr<CoordinatorState> ReadState(absl::string_view json, absl::string_view run_id) {
  AB_ASSIGN_OR_RETURN(CoordinatorState state, FromJson<CoordinatorState>(json));
  AB_RETURN_IF_ERROR(ValidateState(state, run_id));
  return state;
}

}  // namespace autobatch
