#ifndef AUTOBATCH_PROBE_SIMULATION_H_
#define AUTOBATCH_PROBE_SIMULATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/base/scratch_folder.h"
#include "autobatch/trial/worker_trial_runner.h"

namespace autobatch {

// Simulated CUDA devices for this process (by the driver library in `driver_folder`) and for the
// programs that it starts (by LD_PRELOAD), which see each other's use of them. Its folder goes with
// it.
class Simulation {
 public:
  // The devices' UUIDs follow from `node_name`; empty: from the host's. InvalidArgument names the
  // card that is unknown, and the nearest one. Adds what the children need to
  // `programs.environment`. Changes this process's environment: before any other thread reads it.
  static absl::StatusOr<std::unique_ptr<Simulation>> Start(const std::string& devices,
                                                           const std::string& node_name,
                                                           WorkerPrograms& programs);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const std::string& driver_folder() const { return driver_folder_; }

 private:
  Simulation() = default;

  std::string driver_folder_;
  // Where the processes tell each other what they hold, unless the user named one, and where the
  // library is to be found without a space in its path.
  std::vector<ScratchFolder> folders_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_SIMULATION_H_
