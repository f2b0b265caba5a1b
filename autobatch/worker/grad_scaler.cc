#include "autobatch/worker/grad_scaler.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <vector>

namespace autobatch {
namespace {

constexpr double kInitialScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

}  // namespace

GradScaler::GradScaler(c10::Device device)
    : scale_(at::full({}, kInitialScale, at::TensorOptions(device).dtype(at::kFloat))),
      growth_tracker_(at::zeros({}, at::TensorOptions(device).dtype(at::kInt))),
      found_inf_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))) {}

at::Tensor GradScaler::Scale(const at::Tensor& loss) const { return loss.mul(scale_); }

bool GradScaler::Unscale(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  found_inf_.zero_();
  if (gradients.empty()) return true;
  at::_amp_foreach_non_finite_check_and_unscale_(
      gradients, found_inf_, scale_.to(at::kDouble).reciprocal().to(at::kFloat));
  return found_inf_.item<float>() == 0;
}

void GradScaler::Update() {
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, kGrowth, kBackoff, kGrowthInterval);
}

}  // namespace autobatch
