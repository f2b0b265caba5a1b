#include "autobatch/worker/gradient_buckets.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace autobatch {
namespace {

constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;
constexpr int64_t kBucketBytes = int64_t{25} << 20;

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> open;
  int64_t open_bytes = 0;
  for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
    if (!open.empty() && open.front().scalar_type() != it->scalar_type()) {
      CloseBucket(open);
      open_bytes = 0;
    }
    open.push_back(*it);
    open_bytes += static_cast<int64_t>(it->nbytes());
    if (open_bytes >= (views_.empty() ? kFirstBucketBytes : kBucketBytes)) {
      CloseBucket(open);
      open_bytes = 0;
    }
  }
  if (!open.empty()) CloseBucket(open);
}

void GradientBuckets::CloseBucket(std::vector<at::Tensor>& parameters) {
  int64_t elements = 0;
  for (const at::Tensor& parameter : parameters) elements += parameter.numel();
  const at::Tensor bucket =
      at::empty({elements}, parameters.front().options().requires_grad(false));
  int64_t offset = 0;
  for (const at::Tensor& parameter : parameters) {
    parameters_.push_back(parameter);
    views_.push_back(bucket.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    offset += parameter.numel();
  }
  parameters.clear();
}

void GradientBuckets::CopyThrough() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    views_[i].copy_(gradient);
    gradient.copy_(views_[i]);
  }
}

}  // namespace autobatch
