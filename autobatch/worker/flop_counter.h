#ifndef AUTOBATCH_WORKER_FLOP_COUNTER_H_
#define AUTOBATCH_WORKER_FLOP_COUNTER_H_

#include <ATen/record_function.h>

namespace autobatch {

// Counts the floating-point operations that this thread's LibTorch calls stand for while it lives:
// of convolutions, matrix products and fused attention, a multiply-add as 2 (as PyTorch's own
// FlopCounterMode). Element-wise work is not counted, nor what a causal mask would spare. Works for
// TorchScript too, whose operators pass the same dispatcher. One at a time in a thread.
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  double flops() const;

 private:
  at::CallbackHandle handle_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_FLOP_COUNTER_H_
