#include "orchestrator/core/coordinator_core.h"

#include <utility>

#include "orchestrator/core/coordination.h"

namespace autobatch {

CoordinatorCore::CoordinatorCore(CoordinatorConfig config, std::optional<CoordinatorState> restored,
                                 RecordMaker make_record, SteadyTime now)
    : coordination_(std::make_unique<Coordination>(std::move(config), std::move(restored),
                                                   std::move(make_record), now)) {}

CoordinatorCore::~CoordinatorCore() = default;

std::vector<CoordinatorAction> CoordinatorCore::Handle(const CoordinatorEvent& event,
                                                       SteadyTime now) {
  return coordination_->Handle(event, now);
}

std::optional<SteadyTime> CoordinatorCore::NextWake() const { return coordination_->NextWake(); }

}  // namespace autobatch
