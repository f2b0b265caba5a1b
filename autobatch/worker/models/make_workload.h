#ifndef AUTOBATCH_WORKER_MODELS_MAKE_WORKLOAD_H_
#define AUTOBATCH_WORKER_MODELS_MAKE_WORKLOAD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "autobatch/types/workload.h"
#include "autobatch/worker/workload.h"

namespace autobatch {

// The workload that `spec` names, on the CPU and in training mode: a built-in model, initialized
// from torch's default generator, or a TorchScript file, loaded.
//
// InvalidArgument: what ValidateWorkload refuses; a command, which is a program of its own; a
// TorchScript file that does not load, cannot be trained or takes other inputs. NotFound: no such
// file. Throws what LibTorch throws when memory runs out.
absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const WorkloadSpec& spec);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_MAKE_WORKLOAD_H_
