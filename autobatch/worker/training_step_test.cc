#include "autobatch/worker/training_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/tiny_workload.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kWidth = 512;
constexpr int64_t kParameterBytes = kWidth * kWidth * 4;
// Scalars, scales and the like: far below one copy of the parameters.
constexpr int64_t kSmall = 8192;

class TrainingStepTest : public ::testing::Test {
 protected:
  TrainingStepTest() : start_(memory_->HeldBytes()) {}
  ~TrainingStepTest() override { memory_->SetLimit(std::nullopt); }

  // Bytes above what is held before any step, at the peak of step 2.
  int64_t Peak(const StepSettings& settings, int64_t samples = 1) {
    TrainingStep step(workload_, *memory_, settings, [](TrialPhase) {});
    step.Run(samples);
    return step.Run(samples).peak.reserved_bytes - start_;
  }

  std::unique_ptr<DeviceMemory> memory_ = MakeCpuMemory();
  TinyWorkload workload_{kWidth};
  int64_t start_;
};

TEST_F(TrainingStepTest, State_OfEachOptimizer_IsBornInStepOne) {
  const std::vector<std::pair<OptimizerKind, int64_t>> kinds = {
      {OptimizerKind::kSgd, 0},
      {OptimizerKind::kMomentum, kParameterBytes},
      {OptimizerKind::kAdam, 2 * kParameterBytes},
      {OptimizerKind::kAdamw, 2 * kParameterBytes}};
  for (const auto& [kind, bytes] : kinds) {
    TrainingStep step(workload_, *memory_, {.optimizer = kind}, [](TrialPhase) {});
    EXPECT_EQ(step.optimizer_state_bytes(), 0);
    step.Run(1);
    EXPECT_EQ(step.optimizer_state_bytes(), bytes);
    step.Run(1);
    EXPECT_EQ(step.optimizer_state_bytes(), bytes);
  }
  EXPECT_LE(memory_->HeldBytes() - start_, kSmall) << "something of a step outlived it";
}

TEST_F(TrainingStepTest, Optimizers_OnTheSameData_LowerTheLoss) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kMomentum,
                                   OptimizerKind::kAdam, OptimizerKind::kAdamw}) {
    const at::Tensor before = workload_.Parameters()[0].detach().clone();
    TrainingStep step(workload_, *memory_, {.optimizer = kind}, [](TrialPhase) {});
    for (int i = 0; i < 5; ++i) step.Run(64);
    const at::Tensor after = workload_.Parameters()[0].detach();
    // The loss is the output's mean square: every optimizer must shrink the weights.
    EXPECT_LT(after.norm().item<double>(), before.norm().item<double>());
  }
}

TEST_F(TrainingStepTest, Peak_GrowsWithTheBatch) {
  const int64_t small = Peak({}, 1024);
  const int64_t large = Peak({}, 4096);
  // Input, output and the loss's gradient of it, at least.
  EXPECT_GE(large - small, int64_t{3} * 3072 * kWidth * 4 - kSmall);
}

TEST_F(TrainingStepTest, Ema_AddsOneCopyOfTheParameters) {
  EXPECT_NEAR(Peak({.ema = true}) - Peak({}), kParameterBytes, kSmall);
}

TEST_F(TrainingStepTest, Buckets_AddOneCopyOfTheParameters) {
  EXPECT_NEAR(Peak({.gradient_buckets = true}) - Peak({}), kParameterBytes, kSmall);
}

TEST_F(TrainingStepTest, Accumulation_TakesMoreBatchesButOnlyOneGradientMore) {
  const int64_t plain = Peak({}, 2048);
  workload_.batches_made = 0;
  // The second micro-step's gradient is added to the first one's.
  EXPECT_NEAR(Peak({.accumulation = 4}, 2048) - plain, 0, kParameterBytes + kSmall);
  EXPECT_EQ(workload_.batches_made, 8);
}

TEST_F(TrainingStepTest, Gradients_OfAccumulatedMicroSteps_AreTheMean) {
  // A loss of the weights alone: every micro-step has the same gradient, and so has their mean.
  workload_.mutate = [&](at::Tensor) { return workload_.Parameters()[0]; };
  const auto gradient = [&](int64_t accumulation) {
    TrainingStep step(workload_, *memory_,
                      {.optimizer = OptimizerKind::kSgd, .accumulation = accumulation},
                      [](TrialPhase) {});
    step.Run(kWidth);
    return workload_.Parameters()[0].grad().norm().item<double>();
  };
  const double once = gradient(1);
  EXPECT_GT(once, 0);
  EXPECT_NEAR(gradient(3), once, once * 1e-3);
}

TEST_F(TrainingStepTest, Gradients_ThroughBuckets_StayWhatTheyWere) {
  workload_.mutate = [&](at::Tensor) { return workload_.Parameters()[0]; };
  TrainingStep step(workload_, *memory_,
                    {.optimizer = OptimizerKind::kSgd, .gradient_buckets = true},
                    [](TrialPhase) {});
  const at::Tensor weight = workload_.Parameters()[0].detach().clone();
  step.Run(kWidth);
  // Of the mean square of the weights.
  const at::Tensor expected = weight * (2.0 / static_cast<double>(weight.numel()));
  EXPECT_TRUE(at::allclose(workload_.Parameters()[0].grad(), expected, 1e-4, 1e-12));
}

TEST_F(TrainingStepTest, ZeroGrad_Zero_KeepsTheGradientsThroughForward) {
  // With zeros the old gradients are there when the new ones are made.
  EXPECT_GE(Peak({.zero_grad = ZeroGrad::kZero}, 2048), Peak({}, 2048) + kParameterBytes / 2);
}

TEST_F(TrainingStepTest, Phases_OfOneStep_ComeInOrder) {
  std::vector<TrialPhase> phases;
  TrainingStep step(workload_, *memory_, {}, [&](TrialPhase phase) {
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  });
  step.Run(1);
  step.Evaluate(1);
  EXPECT_THAT(phases, ElementsAre(TrialPhase::kForward, TrialPhase::kLoss, TrialPhase::kBackward,
                                  TrialPhase::kOptimizer, TrialPhase::kEvaluation));
}

TEST_F(TrainingStepTest, Evaluation_RunsInItsModeWithItsOwnBatchAndNoGraph) {
  bool trained_in_evaluation = true;
  bool graph_in_evaluation = true;
  int64_t rows = 0;
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  step.Run(4);
  workload_.mutate = [&](at::Tensor output) {
    trained_in_evaluation = workload_.training();
    graph_in_evaluation = output.requires_grad();
    rows = output.size(0);
    return output;
  };
  const MemoryPeak peak = step.Evaluate(1000);
  EXPECT_FALSE(trained_in_evaluation);
  EXPECT_FALSE(graph_in_evaluation);
  EXPECT_EQ(rows, 1000);
  EXPECT_GE(peak.reserved_bytes - start_, 2 * 1000 * kWidth * 4);
  EXPECT_TRUE(workload_.training());
}

TEST_F(TrainingStepTest, Facts_OfTheFirstPass_AreShapesFlopsAndBatch) {
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  EXPECT_FALSE(step.facts().has_value());
  step.Run(6);
  ASSERT_TRUE(step.facts().has_value());
  EXPECT_THAT(step.facts()->input_shapes, ElementsAre("(6, 512)"));
  EXPECT_THAT(step.facts()->output_shapes, ElementsAre("(6, 512)"));
  EXPECT_EQ(step.facts()->batch_seen, 6);
  EXPECT_EQ(step.facts()->flops, 2.0 * 6 * kWidth * kWidth);
}

TEST_F(TrainingStepTest, BatchSeen_OfAModelThatDropsSamples_IsWhatIsLeft) {
  workload_.mutate = [](at::Tensor output) { return output.narrow(0, 0, 1); };
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  step.Run(6);
  EXPECT_EQ(step.facts()->batch_seen, 1);
}

TEST_F(TrainingStepTest, BatchSeen_OfAFlattenedOutput_IsTheInputs) {
  workload_.mutate = [](at::Tensor output) { return output.reshape({-1, 2}); };
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  step.Run(6);
  EXPECT_EQ(step.facts()->batch_seen, 6);
}

TEST_F(TrainingStepTest, Precision_UnderAutocast_IsTheOutputsDtype) {
  for (const auto& [precision, dtype] :
       {std::pair{Precision::kFp32, at::kFloat}, std::pair{Precision::kAmpBf16, at::kBFloat16},
        std::pair{Precision::kAmpFp16, at::kHalf}}) {
    at::ScalarType seen = at::kDouble;
    workload_.mutate = [&](at::Tensor output) {
      seen = output.scalar_type();
      return output;
    };
    TrainingStep step(workload_, *memory_, {.precision = precision}, [](TrialPhase) {});
    EXPECT_TRUE(std::isfinite(step.Run(4).loss.value()));
    EXPECT_EQ(seen, dtype);
  }
}

TEST_F(TrainingStepTest, Fp16_WhoseGradientsOverflow_StillBearsStateAndKeepsTheParameters) {
  // 65504 is fp16's largest: scaled by 65536 the gradients of these outputs are infinite.
  workload_.mutate = [](at::Tensor output) { return output * 1000; };
  const at::Tensor before = workload_.Parameters()[0].detach().clone();
  TrainingStep step(workload_, *memory_,
                    {.precision = Precision::kAmpFp16, .optimizer = OptimizerKind::kAdam},
                    [](TrialPhase) {});
  const StepObservation seen = step.Run(4);
  EXPECT_TRUE(std::isfinite(seen.loss.value()));
  EXPECT_EQ(step.optimizer_state_bytes(), 2 * kParameterBytes);
  EXPECT_TRUE(at::equal(before, workload_.Parameters()[0]));
}

TEST_F(TrainingStepTest, Loss_ThatIsNotANumber_IsReportedAsItIs) {
  workload_.mutate = [](at::Tensor output) {
    return output * std::numeric_limits<double>::quiet_NaN();
  };
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  EXPECT_TRUE(std::isnan(step.Run(1).loss.value()));
}

TEST_F(TrainingStepTest, Limit_Exceeded_ThrowsAndLeavesNothingBehind) {
  {
    TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
    memory_->SetLimit(memory_->HeldBytes() + 4 * kParameterBytes);
    EXPECT_THROW(step.Run(int64_t{1} << 16), c10::OutOfMemoryError);
    EXPECT_TRUE(memory_->RefusedBytes().has_value());
  }
  EXPECT_LE(memory_->HeldBytes() - start_, kSmall);
}

TEST_F(TrainingStepTest, Times_OfThePhases_AddUpToTheStep) {
  TrainingStep step(workload_, *memory_, {}, [](TrialPhase) {});
  const StepObservation seen = step.Run(256);
  EXPECT_EQ(seen.step, 1);
  EXPECT_GT(seen.forward_ms, 0);
  EXPECT_GT(seen.backward_ms, 0);
  EXPECT_GT(seen.optimizer_ms, 0);
  EXPECT_GE(seen.step_ms, seen.forward_ms + seen.backward_ms + seen.optimizer_ms);
}

}  // namespace
}  // namespace autobatch
