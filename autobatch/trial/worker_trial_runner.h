#ifndef AUTOBATCH_TRIAL_WORKER_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_WORKER_TRIAL_RUNNER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/protocol.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// Programs that a trial needs; both start with the parent's environment and `environment` on top.
struct WorkerPrograms {
  // Speaks the trial protocol (autobatch/worker).
  std::string worker;
  // autobatch/trial:guard.
  std::string guard;
  std::vector<std::pair<std::string, std::string>> environment;
  // Where the worker runs, and relative paths of the workload start; empty: here.
  std::string working_directory;
};

struct WorkerTrialOptions {
  WorkerPrograms programs;
  // The one device that the worker sees.
  Device device;
  WorkloadSpec workload;
  // From the start of a process to its hello: linking CUDA's libraries from a cold disk and
  // building the model takes up to a minute.
  absl::Duration start_timeout = absl::Minutes(3);
  // From the asking (SIGTERM, end of file) to SIGKILL: a driver's context is torn down in it.
  absl::Duration grace = absl::Seconds(3);
};

// Runs trials in worker processes. Trials without `fresh_process` share one, whose context and
// kernels stay warm; a fresh one first quits that, so that its memory is given back before the new
// process reads what is free. After a failure the process is replaced. Nothing of a process is left
// when Run of its last trial returns, when the runner is destroyed, or when this process dies of
// whatever.
std::unique_ptr<TrialRunner> NewWorkerTrialRunner(WorkerTrialOptions options);

// What `worker --describe` says of its libraries and of the devices that the driver shows it.
// DeadlineExceeded when it says nothing until then; FailedPrecondition, with its last lines, when
// it cannot start.
absl::StatusOr<WorkerDescription> DescribeWorker(const WorkerPrograms& programs,
                                                 SteadyTime deadline);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_WORKER_TRIAL_RUNNER_H_
