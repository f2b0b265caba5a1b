#ifndef AUTOBATCH_WORKER_TINY_WORKLOAD_H_
#define AUTOBATCH_WORKER_TINY_WORKLOAD_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "autobatch/worker/workload.h"

namespace autobatch {

// One linear layer without bias, for tests: `width` squared parameters, inputs (n, width), the loss
// is the mean square of the output. `mutate` may change or replace the output, or throw.
class TinyWorkload final : public Workload {
 public:
  explicit TinyWorkload(int64_t width)
      : weight_(at::randn({width, width}).mul_(0.01).set_requires_grad(true)) {}

  void To(c10::Device device, bool) override {
    weight_ = weight_.detach().to(device).set_requires_grad(true);
  }
  void Train(bool training) override { training_ = training; }
  std::vector<at::Tensor> Parameters() override { return {weight_}; }
  Batch MakeBatch(int64_t samples, c10::Device device) override {
    ++batches_made;
    return {.inputs = {at::randn({samples, weight_.size(0)}, at::TensorOptions(device))},
            .targets = {}};
  }
  std::vector<at::Tensor> Forward(const Batch& batch) override {
    at::Tensor output = at::matmul(batch.inputs[0], weight_);
    return {mutate ? mutate(output) : output};
  }
  at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch&) override {
    return outputs[0].to(at::kFloat).square().mean();
  }

  std::function<at::Tensor(at::Tensor)> mutate;
  int64_t batches_made = 0;
  bool training() const { return training_; }

 private:
  at::Tensor weight_;
  bool training_ = true;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_TINY_WORKLOAD_H_
