#ifndef AUTOBATCH_WORKER_WORKLOAD_H_
#define AUTOBATCH_WORKER_WORKLOAD_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

namespace autobatch {

// Samples on one device: what a loader hands to a training step.
struct Batch {
  // What the model gets. Dimension 0 of each is the batch.
  std::vector<at::Tensor> inputs;
  // What the loss gets besides the outputs; may be empty. Only here may dimension 0 be something
  // else than the batch (a detector's objects of all images).
  std::vector<at::Tensor> targets;
};

// What a training step trains. The step code owns precision, optimizer, gradients and memory; a
// workload is the model, its loss and its data.
//
// Methods may throw what LibTorch throws (c10::Error, c10::OutOfMemoryError, std::runtime_error
// from TorchScript): the step is the one place that catches, and it asks the allocator what it was.
// Not thread-safe. The factory for what a user can name is models/make_workload.h:
//   absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const WorkloadSpec& spec);
class Workload {
 public:
  virtual ~Workload() = default;

  // Moves parameters and buffers. channels_last: 4-dimensional parameters get that memory format,
  // and MakeBatch gives such inputs from then on. Parameters() may be new tensors afterwards.
  virtual void To(c10::Device device, bool channels_last) = 0;

  // Training or evaluation mode (batch norm, dropout).
  virtual void Train(bool training) = 0;

  // The leaf tensors that the optimizer updates.
  virtual std::vector<at::Tensor> Parameters() = 0;

  // `samples` new random samples of the worst case that the spec declares, on `device`. Drawn from
  // torch's default generator, so that a seed set before repeats them.
  virtual Batch MakeBatch(int64_t samples, c10::Device device) = 0;

  // The outputs that Loss needs, dimension 0 the batch where there is one. Runs under autocast and
  // under no-grad in evaluation: no dtype is assumed, none is forced.
  virtual std::vector<at::Tensor> Forward(const Batch& batch) = 0;

  // The mean loss: one floating-point scalar with a gradient.
  virtual at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch& batch) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_WORKLOAD_H_
