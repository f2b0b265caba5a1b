#ifndef ORCHESTRATOR_SERVICE_NODE_PROBER_H_
#define ORCHESTRATOR_SERVICE_NODE_PROBER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/plan/device_outcome.h"

namespace autobatch {

// What an agent reports of its devices.
struct ProbeAnswer {
  // Every device of the node, in CUDA's order; those without a batch say why.
  std::vector<DeviceOutcome> devices;
  // Held back for communicators on every device while its batch was confirmed; absent: none was.
  std::optional<int64_t> communicator_bytes;
  // One line for people.
  std::string summary;
};

// Answers for the devices of a node, as often as it is asked: from what it knows where nothing has
// changed, else by running trials.
class NodeProber {
 public:
  virtual ~NodeProber() = default;

  // Blocks its thread, for minutes where it must search. At least `communicator_bytes` are held
  // back for communicators, where given. One call at a time.
  virtual ProbeAnswer Probe(std::optional<int64_t> communicator_bytes) = 0;

  // Ends a Probe that runs and every later one: its children are gone when it returns, and its
  // devices have failed for this reason. From any thread.
  virtual void Cancel(const std::string& why) = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_NODE_PROBER_H_
