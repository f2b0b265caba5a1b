#include "autobatch/worker/training_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/worker/autocast_scope.h"
#include "autobatch/worker/flop_counter.h"

namespace autobatch {
namespace {

constexpr double kEmaDecay = 0.9999;

// Splits the time of a step among its phases: waits for the device at each boundary, so that a
// phase owns its work and its errors.
class Stopwatch {
 public:
  explicit Stopwatch(DeviceMemory& memory) : memory_(memory) { Lap(); }

  // Milliseconds since the last lap.
  double Lap() {
    memory_.Synchronize();
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> elapsed = now - start_;
    start_ = now;
    return elapsed.count();
  }

 private:
  DeviceMemory& memory_;
  std::chrono::steady_clock::time_point start_;
};

// "(16, 3, 224, 224)", and "(16,)" for one dimension, as Python writes shapes.
std::vector<std::string> Shapes(const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> shapes;
  for (const at::Tensor& tensor : tensors) {
    shapes.push_back(absl::StrCat("(", absl::StrJoin(tensor.sizes().vec(), ", "),
                                  tensor.dim() == 1 ? ",)" : ")"));
  }
  return shapes;
}

// Dimension 0 of the output where it can be one of samples: a multiple of the input's is a batch
// flattened with something else, and a scalar (the loss itself) tells nothing.
int64_t BatchSeen(const Batch& batch, const std::vector<at::Tensor>& outputs) {
  const bool input_tells = !batch.inputs.empty() && batch.inputs[0].dim() > 0;
  const int64_t in = input_tells ? batch.inputs[0].size(0) : 0;
  if (outputs.empty() || outputs[0].dim() == 0) return in;
  const int64_t out = outputs[0].size(0);
  return in > 0 && out > 0 && out % in == 0 ? in : out;
}

std::vector<at::Tensor> Copies(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> copies;
  for (const at::Tensor& parameter : parameters) copies.push_back(parameter.detach().clone());
  return copies;
}

}  // namespace

TrainingStep::TrainingStep(Workload& workload, DeviceMemory& memory, const StepSettings& settings,
                           std::function<void(TrialPhase)> entered)
    : workload_(workload),
      memory_(memory),
      settings_(settings),
      entered_(std::move(entered)),
      optimizer_(settings.optimizer, workload.Parameters()) {
  workload_.Train(true);
  if (settings_.precision == Precision::kAmpFp16) scaler_.emplace(memory_.device());
  if (settings_.gradient_buckets) buckets_.emplace(workload_.Parameters());
  if (settings_.ema) ema_ = Copies(workload_.Parameters());
}

TrainingStep::~TrainingStep() { optimizer_.ClearGradients(ZeroGrad::kNone); }

void TrainingStep::Forward(bool with_facts) {
  entered_(TrialPhase::kForward);
  const AutocastScope autocast(memory_.device().type(), settings_.precision);
  if (with_facts) {
    const FlopCounter counter;
    outputs_ = workload_.Forward(batch_);
    facts_ = PassFacts{.input_shapes = Shapes(batch_.inputs),
                       .output_shapes = Shapes(outputs_),
                       .batch_seen = BatchSeen(batch_, outputs_),
                       .flops = counter.flops()};
  } else {
    outputs_ = workload_.Forward(batch_);
  }
  entered_(TrialPhase::kLoss);
  loss_ = workload_.Loss(outputs_, batch_);
}

StepObservation TrainingStep::Run(int64_t samples) {
  memory_.ResetPeaks();
  memory_.ClearRefusal();
  const int64_t retries = memory_.Retries();
  StepObservation seen;
  seen.step = ++steps_;
  entered_(TrialPhase::kForward);
  Stopwatch watch(memory_);
  optimizer_.ClearGradients(settings_.zero_grad);
  seen.step_ms = watch.Lap();

  at::Tensor loss_sum;
  for (int64_t micro = 0; micro < settings_.accumulation; ++micro) {
    batch_ = Batch{};
    batch_ = workload_.MakeBatch(samples, memory_.device());
    watch.Lap();
    Forward(!facts_.has_value());
    const at::Tensor loss = loss_.detach().to(at::kFloat);
    loss_sum = micro == 0 ? loss : loss_sum + loss;
    seen.forward_ms += watch.Lap();

    entered_(TrialPhase::kBackward);
    at::Tensor root =
        settings_.accumulation == 1 ? loss_ : loss_ / static_cast<double>(settings_.accumulation);
    if (scaler_.has_value()) root = scaler_->Scale(root);
    root.backward();
    if (buckets_.has_value() && micro + 1 == settings_.accumulation) buckets_->CopyThrough();
    seen.backward_ms += watch.Lap();
  }

  entered_(TrialPhase::kOptimizer);
  Update();
  seen.loss = loss_sum.item<double>() / static_cast<double>(settings_.accumulation);
  seen.optimizer_ms = watch.Lap();
  seen.step_ms += seen.forward_ms + seen.backward_ms + seen.optimizer_ms;
  seen.peak = memory_.Peak();
  seen.retries = memory_.Retries() - retries;
  return seen;
}

void TrainingStep::Update() {
  if (scaler_.has_value()) {
    // Python skips the optimizer after an overflow. Early steps often overflow until the scale has
    // come down, and a trial is a few steps long: it would end before state is born. So the step is
    // made with zeros: all its memory, none of its damage.
    if (!scaler_->Unscale(optimizer_.Gradients())) optimizer_.ClearGradients(ZeroGrad::kZero);
    optimizer_.Step();
    scaler_->Update();
  } else {
    optimizer_.Step();
  }
  UpdateEma();
}

void TrainingStep::UpdateEma() {
  if (ema_.empty()) return;
  const at::NoGradGuard no_grad;
  at::_foreach_lerp_(ema_, workload_.Parameters(), 1 - kEmaDecay);
}

MemoryPeak TrainingStep::Evaluate(int64_t samples) {
  memory_.ResetPeaks();
  memory_.ClearRefusal();
  entered_(TrialPhase::kEvaluation);
  const at::NoGradGuard no_grad;
  workload_.Train(false);
  batch_ = Batch{};
  batch_ = workload_.MakeBatch(samples, memory_.device());
  {
    const AutocastScope autocast(memory_.device().type(), settings_.precision);
    outputs_ = workload_.Forward(batch_);
    loss_ = workload_.Loss(outputs_, batch_);
  }
  memory_.Synchronize();
  workload_.Train(true);
  return memory_.Peak();
}

}  // namespace autobatch
