#ifndef ORCHESTRATOR_SERVICE_AGENT_REPORT_H_
#define ORCHESTRATOR_SERVICE_AGENT_REPORT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "autobatch/types/report.h"
#include "orchestrator/plan/record.h"

namespace autobatch {

inline constexpr char kAgentReportSchema[] = "autobatch.agent_report.v1";

// What an agent has to say when it is over; `--json`.
struct AgentReport {
  std::string schema = kAgentReportSchema;
  std::string run_id;
  std::string agent;
  int64_t exit_code = 0;
  // Why it ended.
  std::string text;
  // The last that was committed.
  std::optional<Record> record;
  // What its devices were last found to load.
  NodeReport node;
};
BOOST_DESCRIBE_STRUCT(AgentReport, (), (schema, run_id, agent, exit_code, text, record, node))

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_AGENT_REPORT_H_
