#ifndef ORCHESTRATOR_SERVICE_SERVICE_OUTCOME_H_
#define ORCHESTRATOR_SERVICE_SERVICE_OUTCOME_H_

#include <string>

namespace autobatch {

// How a coordinator or an agent ended.
struct ServiceOutcome {
  // Of design's table (core/exit_codes.h, probe/node_summary.h).
  int exit_code = 0;
  // Why, for people.
  std::string text;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_SERVICE_OUTCOME_H_
