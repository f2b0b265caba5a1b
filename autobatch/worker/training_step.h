#ifndef AUTOBATCH_WORKER_TRAINING_STEP_H_
#define AUTOBATCH_WORKER_TRAINING_STEP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/workload.h"
#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/grad_scaler.h"
#include "autobatch/worker/gradient_buckets.h"
#include "autobatch/worker/optimizer.h"
#include "autobatch/worker/workload.h"

namespace autobatch {

struct StepSettings {
  Precision precision = Precision::kFp32;
  OptimizerKind optimizer = OptimizerKind::kMomentum;
  ZeroGrad zero_grad = ZeroGrad::kNone;
  bool ema = false;
  bool gradient_buckets = false;
  // Micro-steps in each optimizer step.
  int64_t accumulation = 1;
};

// What the first forward pass showed of the model.
struct PassFacts {
  std::vector<std::string> input_shapes;
  std::vector<std::string> output_shapes;
  int64_t batch_seen = 0;
  double flops = 0;
};

// Full training steps as a Python training loop runs them, on whatever device the workload is:
//
//   TrainingStep step(workload, memory, settings, [](TrialPhase) {});
//   for (int i = 1; i <= 3; ++i) StepObservation seen = step.Run(batch);
//   step.Evaluate(batch);
//
// A step: gradients cleared; for each micro-step a new worst-case batch, forward and loss under
// autocast, backward (scaled for fp16); buckets after the last one; optimizer; EMA. What the loop's
// variables would keep alive stays alive here: outputs and loss until those of the next pass exist,
// the batch until the next one is made. The batch is made on the device, outside the measured
// times, so that no batch of the host's memory is needed beside it.
//
// Optimizer state, EMA and buckets live as long as the object; its destructor drops the gradients
// too, so that the workload is left as it was found but for the values of its parameters.
//
// Throws what LibTorch throws; the object can then only be destroyed. One thread.
class TrainingStep {
 public:
  // `entered` is called on entry to each phase. References must outlive this object.
  TrainingStep(Workload& workload, DeviceMemory& memory, const StepSettings& settings,
               std::function<void(TrialPhase)> entered);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  // One optimizer step of `samples` a micro-step; resets the peaks first. The loss may be
  // non-finite: that is the caller's to judge. It is the unscaled one.
  StepObservation Run(int64_t samples);

  // Forward and loss in evaluation mode and without gradients; resets the peaks first and returns
  // the new ones.
  MemoryPeak Evaluate(int64_t samples);

  // Set after the first forward pass of Run.
  const std::optional<PassFacts>& facts() const { return facts_; }
  int64_t optimizer_state_bytes() const { return optimizer_.StateBytes(); }

 private:
  void Forward(bool with_facts);
  void Update();
  void UpdateEma();

  Workload& workload_;
  DeviceMemory& memory_;
  const StepSettings settings_;
  const std::function<void(TrialPhase)> entered_;

  Optimizer optimizer_;
  std::optional<GradScaler> scaler_;
  std::optional<GradientBuckets> buckets_;
  std::vector<at::Tensor> ema_;

  // The training loop's variables.
  Batch batch_;
  std::vector<at::Tensor> outputs_;
  at::Tensor loss_;

  std::optional<PassFacts> facts_;
  int64_t steps_ = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_TRAINING_STEP_H_
