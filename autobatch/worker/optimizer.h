#ifndef AUTOBATCH_WORKER_OPTIMIZER_H_
#define AUTOBATCH_WORKER_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "autobatch/types/workload.h"

namespace autobatch {

// SGD, momentum, Adam and AdamW as Python's torch.optim runs them by default, because its memory is
// what is to be predicted: on CUDA all parameters at once by foreach kernels, so that Adam's square
// roots exist for all of them together (4 bytes a parameter more than torch::optim, which goes one
// by one, as Python does on a CPU). State is born in the first step.
//
// The learning rate is small and no option: the data are noise, and neither memory nor time depends
// on it.
class Optimizer {
 public:
  Optimizer(OptimizerKind kind, std::vector<at::Tensor> parameters);

  // Updates every parameter that has a gradient.
  void Step();
  // kNone drops the gradients, kZero fills them with zeros.
  void ClearGradients(ZeroGrad mode);
  // Every gradient that exists.
  std::vector<at::Tensor> Gradients() const;
  // 0 before the first step; then SGD 0, momentum 4, Adam and AdamW 8 bytes an fp32 parameter.
  int64_t StateBytes() const;

 private:
  // One parameter and what belongs to it. `first`: momentum, or Adam's mean; `second`: Adam's
  // square.
  struct Slot {
    at::Tensor parameter;
    at::Tensor first;
    at::Tensor second;
  };
  // The same of many parameters, as foreach kernels want them.
  struct Group {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    std::vector<at::Tensor> first;
    std::vector<at::Tensor> second;
  };

  std::vector<Group> Groups();
  void BearState(Slot& slot);
  void Momentum(Group& group);
  void Adam(Group& group);

  OptimizerKind kind_;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_OPTIMIZER_H_
