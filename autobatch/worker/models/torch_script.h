#ifndef AUTOBATCH_WORKER_MODELS_TORCH_SCRIPT_H_
#define AUTOBATCH_WORKER_MODELS_TORCH_SCRIPT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "autobatch/types/workload.h"
#include "autobatch/worker/workload.h"

namespace autobatch {

// A module that torch.jit.save wrote, from the path spec.name, with spec's inputs in the order of
// its forward method. Expects a valid spec.
//
// Of what the module returns, the first tensor is the output: of a tuple, a list or a dict (in its
// order), however deep. Losses:
//   cross_entropy    logits (batch, classes, ...) or (batch, ..., classes), and class numbers
//                    (batch, ...) or probabilities of the logits' shape
//   mse, bce_with_logits   a target of the output's shape
//   mean             of the output's values
//   output           the output is the loss: one value
// Inputs of a floating-point type are standard normal, targets uniform in [0, 1).
//
// NotFound: no such file. InvalidArgument: not a TorchScript archive, fails to load (the first line
// of LibTorch's message), no forward method, another number of inputs, nothing to train.
absl::StatusOr<std::unique_ptr<Workload>> LoadTorchScript(const WorkloadSpec& spec);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_TORCH_SCRIPT_H_
