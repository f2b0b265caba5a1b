#ifndef AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_
#define AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
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

  int64_t bytes() const;
  int64_t size() const { return static_cast<int64_t>(buckets_.size()); }

 private:
  void CloseBucket(std::vector<at::Tensor>& parameters);

  std::vector<at::Tensor> buckets_;
  // Parallel: each parameter, and its place in a bucket.
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> views_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_GRADIENT_BUCKETS_H_
