#include "orchestrator/core/agent_core.h"

#include <utility>

#include "orchestrator/core/agent_conduct.h"

namespace autobatch {

AgentCore::AgentCore(AgentConfig config, RecordChecker check_record, SteadyTime now)
    : conduct_(std::make_unique<AgentConduct>(std::move(config), std::move(check_record), now)) {}

AgentCore::~AgentCore() = default;

std::vector<AgentAction> AgentCore::Start(SteadyTime now) { return conduct_->Start(now); }

std::vector<AgentAction> AgentCore::Handle(const AgentEvent& event, SteadyTime now) {
  return conduct_->Handle(event, now);
}

bool AgentCore::MayStart(SteadyTime now) const { return conduct_->MayStart(now); }

std::optional<SteadyTime> AgentCore::NextWake() const { return conduct_->NextWake(); }

}  // namespace autobatch
