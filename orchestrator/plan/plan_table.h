#ifndef ORCHESTRATOR_PLAN_PLAN_TABLE_H_
#define ORCHESTRATOR_PLAN_PLAN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "orchestrator/plan/plan.h"

namespace autobatch {

struct PlanTableOptions {
  // The world size that is marked.
  int64_t present = 0;
  // Of a longer plan the first and the last rows are shown, and the present one.
  size_t max_rows = 40;
  // What another tool does in a world of this size; where it has no entry it cannot run there.
  // Empty: no such column.
  std::map<int64_t, std::string> other;
  std::string other_title;
};

// The plan for people: one line a world size, then the world sizes without a row and why. What is
// empty in every row has no column. Ended by a newline.
std::string PlanTable(const Plan& plan, const PlanTableOptions& options);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_PLAN_TABLE_H_
