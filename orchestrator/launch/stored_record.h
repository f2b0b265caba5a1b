#ifndef ORCHESTRATOR_LAUNCH_STORED_RECORD_H_
#define ORCHESTRATOR_LAUNCH_STORED_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/plan/record.h"

namespace autobatch {

// The committed record in a file, verified: its digest (`digest` is the run's seal), its numbers,
// and, unless `run_id` is empty, that it is this run's. NotFound, FailedPrecondition (of
// another run), DataLoss and others of errno name the file and what to do: nothing starts on a
// missing or invalid record.
absl::StatusOr<Record> ReadStoredRecord(const std::string& path, absl::string_view run_id,
                                        const DigestFunction& digest);

// InvalidArgument for a record of simulated devices, unless they are allowed.
absl::Status CheckRealDevices(bool simulated, bool allowed);

// A record on a batch that the user stated because no agreement was reached.
struct FallbackRequest {
  std::string run_id;
  int64_t batch = 0;
  // Processes.
  int64_t world_size = 0;
  PlanRequest plan;
  // Of the record that was there before; 0: none.
  int64_t last_round = 0;
};

// Says fallback = true in itself. The same request gives the same record on every node: it holds no
// time. Errors as MakeRecord's, and InvalidArgument where the processes are no whole replicas.
absl::StatusOr<Record> MakeFallbackRecord(const FallbackRequest& request,
                                          const DigestFunction& digest);

// What is shouted then; `why` there is no agreement.
std::string FallbackWarning(int64_t batch, absl::string_view why);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_STORED_RECORD_H_
