#include "autobatch/worker/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace autobatch {
namespace {

constexpr double kLearningRate = 1e-5;
constexpr double kMomentum = 0.9;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;
constexpr double kAdamWDecay = 0.01;

int64_t Bytes(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

}  // namespace

Optimizer::Optimizer(OptimizerKind kind, std::vector<at::Tensor> parameters) : kind_(kind) {
  for (at::Tensor& parameter : parameters) slots_.push_back({std::move(parameter), {}, {}});
}

void Optimizer::BearState(Slot& slot) {
  // Momentum's buffer starts as a copy of the gradient: the same bytes as zeros to which it is
  // added.
  const bool adam = kind_ == OptimizerKind::kAdam || kind_ == OptimizerKind::kAdamw;
  if (kind_ != OptimizerKind::kSgd && !slot.first.defined()) {
    slot.first = at::zeros_like(slot.parameter);
  }
  if (adam && !slot.second.defined()) slot.second = at::zeros_like(slot.parameter);
}

std::vector<Optimizer::Group> Optimizer::Groups() {
  std::vector<Group> groups;
  for (Slot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    BearState(slot);
    if (groups.empty() || slot.parameter.is_cpu()) groups.emplace_back();
    Group& group = groups.back();
    group.parameters.push_back(slot.parameter);
    group.gradients.push_back(slot.parameter.grad());
    group.first.push_back(slot.first);
    group.second.push_back(slot.second);
  }
  return groups;
}

void Optimizer::Step() {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (Group& group : Groups()) {
    switch (kind_) {
      case OptimizerKind::kSgd:
        at::_foreach_add_(group.parameters, group.gradients, -kLearningRate);
        break;
      case OptimizerKind::kMomentum:
        Momentum(group);
        break;
      case OptimizerKind::kAdamw:
        at::_foreach_mul_(group.parameters, 1 - kLearningRate * kAdamWDecay);
        Adam(group);
        break;
      case OptimizerKind::kAdam:
        Adam(group);
        break;
    }
  }
}

void Optimizer::Momentum(Group& group) {
  at::_foreach_mul_(group.first, kMomentum);
  at::_foreach_add_(group.first, group.gradients);
  at::_foreach_add_(group.parameters, group.first, -kLearningRate);
}

void Optimizer::Adam(Group& group) {
  at::_foreach_lerp_(group.first, group.gradients, 1 - kBeta1);
  at::_foreach_mul_(group.second, kBeta2);
  at::_foreach_addcmul_(group.second, group.gradients, group.gradients, 1 - kBeta2);
  const auto step = static_cast<double>(steps_);
  std::vector<at::Tensor> denominator = at::_foreach_sqrt(group.second);
  at::_foreach_div_(denominator, std::sqrt(1 - std::pow(kBeta2, step)));
  at::_foreach_add_(denominator, kEpsilon);
  at::_foreach_addcdiv_(group.parameters, group.first, denominator,
                        -kLearningRate / (1 - std::pow(kBeta1, step)));
}

void Optimizer::ClearGradients(ZeroGrad mode) {
  const at::NoGradGuard no_grad;
  if (mode == ZeroGrad::kZero) {
    std::vector<at::Tensor> gradients = Gradients();
    if (!gradients.empty()) at::_foreach_zero_(gradients);
    return;
  }
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

std::vector<at::Tensor> Optimizer::Gradients() const {
  std::vector<at::Tensor> gradients;
  for (const Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) gradients.push_back(slot.parameter.grad());
  }
  return gradients;
}

int64_t Optimizer::StateBytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += Bytes(slot.first) + Bytes(slot.second);
  return bytes;
}

}  // namespace autobatch
