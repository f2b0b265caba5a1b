#ifndef ORCHESTRATOR_LAUNCH_INTERFACE_CHOICE_H_
#define ORCHESTRATOR_LAUNCH_INTERFACE_CHOICE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/net/interfaces.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// The variables by which each library takes the user's one choice of interfaces, in the form that
// it wants: NCCL_SOCKET_IFNAME "=eth0,eth1" (without the '=', "eth1" is "eth10", too),
// GLOO_SOCKET_IFNAME "eth0,eth1", TP_SOCKET_IFNAME "eth0" (TensorPipe, of torch.distributed.rpc).
//
// `choice`: names, or networks that each node has an address in ("10.1.0.0/16", "fd00::/64"),
// separated by commas. InvalidArgument: one that is not there, with those that are; one that is
// down, or has no address; loopback where there are several nodes (`alone` is false); a variable in
// `environment`, or in NCCL's configuration files (`nccl_file`, NCCL's value in them), that the
// user has set to something else. What says the same is kept as it is.
absl::StatusOr<std::vector<WorkerVariable>> InterfaceVariables(
    absl::string_view choice, std::span<const Interface> interfaces, bool alone,
    const Environment& environment, absl::string_view nccl_file);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_INTERFACE_CHOICE_H_
