#ifndef AUTOBATCH_WORKER_GRAD_SCALER_H_
#define AUTOBATCH_WORKER_GRAD_SCALER_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <vector>

namespace autobatch {

// Dynamic loss scaling for fp16, with the constants and kernels of Python's torch.amp.GradScaler:
//   scaler.Scale(loss).backward();
//   if (!scaler.Unscale(gradients)) ...  // some gradient overflowed
//   scaler.Update();
class GradScaler {
 public:
  explicit GradScaler(c10::Device device);

  at::Tensor Scale(const at::Tensor& loss) const;
  // Divides the gradients by the scale, in place. False when one of them is not finite. Waits for
  // the device, as Python's step() does.
  bool Unscale(const std::vector<at::Tensor>& gradients);
  // Halves the scale after an overflow, doubles it after 2000 steps without.
  void Update();

 private:
  at::Tensor scale_;
  at::Tensor growth_tracker_;
  at::Tensor found_inf_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_GRAD_SCALER_H_
