#ifndef AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_
#define AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace autobatch {

// The flat buffers that DistributedDataParallel holds beside the gradients (gradient_as_bucket_view
// false, its default): one copy of every parameter, in buckets of 1 MiB first and 25 MiB then,
// parameters in reverse. The reduction itself is left out: what it takes is the communicator
// margin.
class GradientBuckets {
 public:
  explicit GradientBuckets(const std::vector<at::Tensor>& parameters);

  // Copies every gradient into its bucket and back, as the reduction's two ends do.
  void CopyThrough();

 private:
  void CloseBucket(std::vector<at::Tensor>& parameters);

  // Parallel: each parameter, and its place in a bucket, which lives as long as its views.
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> views_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_
