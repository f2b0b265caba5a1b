#ifndef AUTOBATCH_TRIAL_NODE_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_NODE_TRIAL_RUNNER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// What one trial on several devices came to.
struct NodeObservation {
  // One a device, in their order. A trial that fails on one of them has failed on all: then each
  // has the failure, whose message names the device.
  std::vector<Observation> devices;
  // The device that the failure is of; 0 when there is none.
  size_t failed = 0;
};

// Runs trials that use several devices at once, one trial after the other: the ranks of a
// data-parallel command, as they train.
class NodeTrialRunner {
 public:
  virtual ~NodeTrialRunner() = default;

  // Runs one trial to its end, at latest to `deadline`. `specs` has one for each device: they
  // differ in their limits only. Errors as those of TrialRunner::Run. One call at a time.
  virtual absl::StatusOr<NodeObservation> Run(std::span<const TrialSpec> specs, SteadyTime deadline,
                                              const ProgressFunction& progress) = 0;

  // As TrialRunner::Cancel.
  virtual void Cancel() = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_NODE_TRIAL_RUNNER_H_
