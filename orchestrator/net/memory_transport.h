#ifndef ORCHESTRATOR_NET_MEMORY_TRANSPORT_H_
#define ORCHESTRATOR_NET_MEMORY_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/net/address.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// The transport's twin for tests: the same interfaces and the same bounds, no socket, no
// cryptography, and nothing that depends on the machine's timing. Everything happens on the one
// thread of the task group's executor, at the time of the timers (see simulated_timers.h).
class MemoryNetwork {
 public:
  MemoryNetwork(TaskGroup& tasks, Timers& timers);
  ~MemoryNetwork();
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;

  // AlreadyExists: somebody listens there.
  absl::StatusOr<std::unique_ptr<Listener>> Listen(HostPort address);

  // Connections from a peer that has proved to be `identity` and calls from `address`.
  std::unique_ptr<Connector> MakeConnector(std::string address, std::string identity);

  // As if the cable to this peer (by the address it calls from) was pulled: what is sent in either
  // direction is lost, and nobody is told. Put back by false: new connections work, old ones are
  // as lost as TCP's would be when its retries have ended.
  void Unplug(const std::string& address, bool unplugged);

 private:
  struct State;
  class Caller;
  std::shared_ptr<State> state_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_MEMORY_TRANSPORT_H_
