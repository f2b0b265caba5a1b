#ifndef AUTOBATCH_WORKER_SERVE_H_
#define AUTOBATCH_WORKER_SERVE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/types/workload.h"
#include "autobatch/worker/protocol_channel.h"
#include "autobatch/worker/workload.h"

namespace autobatch {

using WorkloadFactory =
    std::function<absl::StatusOr<std::unique_ptr<Workload>>(const WorkloadSpec&)>;

// Answers requests until the parent closes its end: the setup with a hello, each trial with its
// phase and step lines and one result. A setup that fails is answered with a failed result instead
// of a hello, and that is all. After a failed trial it keeps answering; whether to go on or to
// replace the process is the parent's choice. Returns an error only when the channel itself fails,
// or the parent speaks something else.
//
// Call it before any tensor exists, and end the process afterwards without destroying what is left:
// on a lost device destructors throw.
absl::Status Serve(ProtocolChannel& channel, const WorkloadFactory& make_workload);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_SERVE_H_
