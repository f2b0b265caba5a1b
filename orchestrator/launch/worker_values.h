#ifndef ORCHESTRATOR_LAUNCH_WORKER_VALUES_H_
#define ORCHESTRATOR_LAUNCH_WORKER_VALUES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// Where a worker's share comes from.
struct WorkerSource {
  // The agent's Unix socket, else a record's file.
  std::string socket;
  std::string record;
  // Empty: any run.
  std::string run_id;
  DigestFunction digest;
  SteadyTime deadline;
  // How long a record that has no row for this world may be an earlier round's: to notice a lost
  // node and to commit without it takes the coordinator's 7 s and some.
  absl::Duration settling = absl::Seconds(15);
  bool allow_simulated = false;
  // What to start on where there is no agreement; absent: nothing starts.
  std::optional<int64_t> fallback_batch;
  // Gets the warning of a fallback.
  std::function<void(absl::string_view)> warn;
};

// The share of this worker, with the variables that training is handed. Blocks for an agent that
// has no record yet, until the deadline.
//
// Answered by a fallback, where one is given (its record then stands beside the socket or the
// record's file):
//   DeadlineExceeded    no agent answered;
//   Unavailable         it leaves;
//   NotFound            no record, or none for this world size.
// Never answered by one:
//   FailedPrecondition  a record of another run, or no share for this device;
//   DataLoss            the record is not valid;
//   PermissionDenied    the socket is another user's;
//   InvalidArgument     the request makes no sense, or the devices are simulated.
absl::StatusOr<WorkerReply> ObtainShare(const WorkerSource& source, const WorkerRequest& request);

// The programs' exit code for an error of agreeing or of starting.
int LaunchExitCode(const absl::Status& status);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_WORKER_VALUES_H_
