#ifndef AUTOBATCH_TRIAL_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_TRIAL_RUNNER_H_

#include <functional>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/protocol.h"

namespace autobatch {

// Told of every phase and step of a running trial, on the thread that runs it. May be empty.
using ProgressFunction = std::function<void(const Reply&)>;

// Runs the trials of one device, one after the other.
//
//   AB_ASSIGN_OR_RETURN(Observation seen, runner.Run(trial, Add(clock.Now(), absl::Minutes(10)),
//   {})); search.Observe(seen);
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  // Runs one trial to its end, at latest to `deadline`. A trial that fails is an Observation with
  // its classified `failure` and the steps that ran before it; a Status is only for what breaks
  // this process itself (ResourceExhausted: no descriptors, no processes). One call at a time.
  virtual absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime deadline,
                                          const ProgressFunction& progress) = 0;

  // Ends the running trial with kCancelled, and every later one at once. Never blocks; from any
  // thread, and from a signal handler.
  virtual void Cancel() = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_TRIAL_RUNNER_H_
