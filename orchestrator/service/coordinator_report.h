#ifndef ORCHESTRATOR_SERVICE_COORDINATOR_REPORT_H_
#define ORCHESTRATOR_SERVICE_COORDINATOR_REPORT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/plan/straggler.h"

namespace autobatch {

inline constexpr char kCoordinatorReportSchema[] = "autobatch.coordinator_report.v1";

// What came of one round.
struct RoundReport {
  int64_t round = 0;
  bool committed = false;
  // Why not, and who was waited for.
  std::string reason;
  std::vector<std::string> missing;
  // What was committed.
  std::string digest;
  std::optional<Record> record;
  // Agents that have confirmed the commit, and those that have not in time: whether their training
  // has started is not known.
  std::vector<std::string> confirmed;
  std::vector<std::string> unconfirmed;
  // What every device reported, where the round got so far, and the one that sets the minimum.
  std::vector<NodeOutcomes> nodes;
  std::optional<StragglerReport> straggler;
};
BOOST_DESCRIBE_STRUCT(RoundReport, (),
                      (round, committed, reason, missing, digest, record, confirmed, unconfirmed,
                       nodes, straggler))

// Everything that a coordinator has to say of its run; `--json`.
struct CoordinatorReport {
  std::string schema = kCoordinatorReportSchema;
  std::string run_id;
  // Where it listened.
  std::string address;
  // Absent while it runs.
  std::optional<int64_t> exit_code;
  std::string text;
  // The last so many rounds, in their order.
  std::vector<RoundReport> rounds;
};
BOOST_DESCRIBE_STRUCT(CoordinatorReport, (), (schema, run_id, address, exit_code, text, rounds))

// Adds a round; forgets the oldest above a hundred.
void AddRound(CoordinatorReport& report, const coordinator::RoundEnded& ended);

// Notes who has confirmed the commit of a round.
void AddConfirmation(CoordinatorReport& report, const coordinator::CommitConfirmed& confirmed);

// A committed round for people, several lines: what was agreed on, and which device sets it.
std::string CommitText(const RoundReport& round);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_COORDINATOR_REPORT_H_
