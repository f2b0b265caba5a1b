#include "autobatch/worker/run_trial.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/batchnorm.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/tiny_workload.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 256;
constexpr int64_t kParameterBytes = kWidth * kWidth * 4;
constexpr int64_t kMiB = 1 << 20;

class RunTrialTest : public ::testing::Test {
 protected:
  Observation Run(const TrialSpec& trial) {
    return RunTrial(workload_, *memory_, spec_, trial,
                    {.entered = [&](TrialPhase phase) { phases_.push_back(phase); },
                     .stepped = [&](const StepObservation& step) { steps_.push_back(step); }});
  }

  std::unique_ptr<DeviceMemory> memory_ = MakeCpuMemory();
  TinyWorkload workload_{kWidth};
  WorkloadSpec spec_;
  std::vector<TrialPhase> phases_;
  std::vector<StepObservation> steps_;
};

TEST_F(RunTrialTest, Trial_ThatFits_ReportsWhatItSaw) {
  const Observation seen =
      Run({.batch = 128, .steps = 4, .evaluation_batch = 64, .limit_bytes = 64 * kMiB, .seed = 5});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.trial.batch, 128);
  EXPECT_EQ(seen.trial.seed, 5);
  EXPECT_EQ(seen.batch_seen, 128);
  EXPECT_EQ(seen.parameters, kWidth * kWidth);
  EXPECT_EQ(seen.forward_flops, 2.0 * 128 * kWidth * kWidth);
  EXPECT_THAT(seen.input_shapes, ElementsAre("(128, 256)"));
  EXPECT_EQ(seen.budget_bytes, 64 * kMiB);
  ASSERT_EQ(seen.steps.size(), 4u);
  ASSERT_EQ(steps_.size(), 4u);
  EXPECT_EQ(steps_.back().step, 4);
  // State is born in the first step, while its activations are gone: from the second on both are
  // there.
  ASSERT_TRUE(seen.steady.has_value());
  EXPECT_GE(seen.steady->reserved_bytes, seen.first_step->reserved_bytes);
  EXPECT_LE(seen.PeakReserved(), 64 * kMiB);
  EXPECT_FALSE(seen.unsettled);
  ASSERT_TRUE(seen.evaluation.has_value());
  EXPECT_GT(*seen.step_ms, 0);
  EXPECT_GT(seen.trial_ms, 0);
  EXPECT_GT(*seen.host_peak_bytes, 0);
  EXPECT_EQ(seen.method, "worker");
  EXPECT_EQ(phases_.front(), TrialPhase::kStart);
  EXPECT_EQ(phases_.back(), TrialPhase::kEnd);
}

TEST_F(RunTrialTest, PeakThatStillGrows_GoesOnUntilItDoesNot) {
  int64_t calls = 0;
  workload_.mutate = [&](at::Tensor output) {
    at::empty({std::min<int64_t>(++calls, 6) * kMiB}, at::kByte);
    return output;
  };
  EXPECT_EQ(Run({.steps = 4, .most_steps = 20}).steps.size(), 7u);
  calls = 0;
  EXPECT_EQ(Run({.steps = 4, .most_steps = 5}).steps.size(), 5u);
  calls = 0;
  const Observation seen = Run({.steps = 4});
  EXPECT_EQ(seen.steps.size(), 4u);
  EXPECT_TRUE(seen.unsettled);
}

TEST_F(RunTrialTest, Trials_OneAfterTheOther_SeeTheSame) {
  const Observation first = Run({.batch = 64});
  Run({.batch = 512, .gradient_buckets = true});
  const Observation again = Run({.batch = 64});
  EXPECT_EQ(first.PeakReserved(), again.PeakReserved());
  EXPECT_EQ(first.first_step->reserved_bytes, again.first_step->reserved_bytes);
}

TEST_F(RunTrialTest, OutOfMemory_IsTypedPlacedAndFollowedByACleanTrial) {
  const Observation seen = Run({.batch = 1 << 14, .limit_bytes = memory_->HeldBytes() + 20 * kMiB});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(seen.failure->requested_bytes, (int64_t{1} << 14) * kWidth * 4);
  EXPECT_EQ(seen.failure->step, 1);
  ASSERT_TRUE(seen.failure->phase.has_value());
  EXPECT_EQ(*seen.failure->phase, phases_.back());
  EXPECT_THAT(seen.failure->message, HasSubstr("CPU out of memory"));
  EXPECT_TRUE(Run({.batch = 4, .limit_bytes = memory_->HeldBytes() + 20 * kMiB}).ok());
}

TEST_F(RunTrialTest, MemoryLimitWithinTheMargins_IsNamedAndNotTheHostsMemory) {
  const Observation seen = Run({.limit_bytes = 0, .reserve_bytes = 256 * kMiB});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(seen.failure->message, HasSubstr("memory limit is no more than the margins of 256"));
  EXPECT_THAT(seen.failure->advice, HasSubstr("memory limit"));
}

TEST_F(RunTrialTest, OutOfMemory_WrappedSoThatItsTypeIsLost_IsKnownByTheRecord) {
  workload_.mutate = [](at::Tensor output) -> at::Tensor {
    try {
      at::empty({int64_t{1} << 40}, at::kByte);
    } catch (const c10::Error&) {
      throw std::runtime_error(
          "The following operation failed in the TorchScript interpreter.\nTraceback of "
          "TorchScript (most recent call last):\n  File \"x.py\", line 3, in forward\n    return "
          "y\n"
          "           ~ <--- HERE\nRuntimeError: something else\n");
    }
    return output;
  };
  const Observation seen = Run({.limit_bytes = 1 << 30});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(seen.failure->requested_bytes, int64_t{1} << 40);
  EXPECT_EQ(seen.failure->message, "RuntimeError: something else");
}

TEST_F(RunTrialTest, Refusal_ThatTheModelSurvives_IsNoFailureAndDoesNotExplainALaterOne) {
  int calls = 0;
  workload_.mutate = [&](at::Tensor output) {
    try {
      at::empty({int64_t{1} << 40}, at::kByte);
    } catch (const c10::Error&) {
    }
    return output;
  };
  EXPECT_TRUE(Run({.limit_bytes = 1 << 30}).ok());
  workload_.mutate = [&](at::Tensor output) {
    TORCH_CHECK(++calls < 2, "size mismatch of some kind");
    return output;
  };
  const Observation seen = Run({});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kModelError);
  EXPECT_EQ(seen.failure->step, 2);
  EXPECT_EQ(seen.failure->phase, TrialPhase::kForward);
  EXPECT_EQ(seen.failure->message, "size mismatch of some kind");
  EXPECT_EQ(seen.steps.size(), 1u);
}

TEST_F(RunTrialTest, BatchNorm_OfOneSample_IsAModelErrorInPyTorchsWords) {
  workload_.mutate = [](at::Tensor output) {
    return torch::nn::functional::batch_norm(
        output, {}, {}, torch::nn::functional::BatchNormFuncOptions().training(true));
  };
  EXPECT_TRUE(Run({.batch = 2}).ok());
  const Observation seen = Run({.batch = 1});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kModelError);
  EXPECT_THAT(seen.failure->message, HasSubstr("Expected more than 1 value per channel"));
  EXPECT_THAT(seen.failure->advice, HasSubstr("at least 2"));
}

TEST_F(RunTrialTest, LibraryError_IsSuspectedOnlyWhenMemoryIsNearlyFull) {
  workload_.mutate = [](at::Tensor output) -> at::Tensor {
    throw std::runtime_error("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED");
  };
  EXPECT_EQ(Run({.limit_bytes = 1 << 30}).failure->kind, FailureKind::kModelError);
  // A budget that input and output of this batch fill.
  const int64_t tensors = int64_t{2} * 4096 * kWidth * 4;
  EXPECT_EQ(
      Run({.batch = 4096, .limit_bytes = memory_->HeldBytes() + tensors + 65536}).failure->kind,
      FailureKind::kSuspectedOutOfMemory);
}

TEST_F(RunTrialTest, HostThatIsOutOfMemory_IsNoCeilingOfTheDevice) {
  workload_.mutate = [](at::Tensor) -> at::Tensor { throw std::bad_alloc(); };
  EXPECT_EQ(Run({}).failure->kind, FailureKind::kHostOutOfMemory);
}

TEST_F(RunTrialTest, NonFiniteLoss_FailsTheStepAndNamesIt) {
  int step = 0;
  workload_.mutate = [&](at::Tensor output) { return ++step == 3 ? output / 0.0 : output; };
  const Observation seen = Run({.batch = 2, .steps = 8});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kNonFiniteLoss);
  EXPECT_EQ(seen.failure->step, 3);
  EXPECT_EQ(seen.steps.size(), 3u);
}

TEST_F(RunTrialTest, Batch_ThatTheModelIgnores_IsAFailure) {
  workload_.mutate = [](at::Tensor output) { return output.narrow(0, 0, 1); };
  const Observation seen = Run({.batch = 8});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kBatchIgnored);
  EXPECT_EQ(seen.batch_seen, 1);
}

TEST_F(RunTrialTest, Budget_IsTheLesserOfTheLimitAndWhatIsFreeLessTheReserve) {
  const int64_t free = *memory_->Query().free_bytes;
  const Observation limited = Run({.limit_bytes = 64 * kMiB, .reserve_bytes = kMiB});
  EXPECT_EQ(limited.budget_bytes, 64 * kMiB);
  const int64_t reserve = free - 256 * kMiB;
  const Observation reserved = Run({.limit_bytes = free, .reserve_bytes = reserve});
  ASSERT_TRUE(reserved.budget_bytes.has_value());
  EXPECT_EQ(*reserved.budget_bytes, *reserved.free_before_bytes - reserve);
}

TEST_F(RunTrialTest, Budget_OfNothing_FailsAtOnceAndNamesTheNumbers) {
  const Observation seen = Run({.reserve_bytes = int64_t{1} << 60});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(seen.failure->message, HasSubstr("less margins of"));
  EXPECT_TRUE(seen.steps.empty());
  EXPECT_LE(*seen.budget_bytes, 0);
}

TEST_F(RunTrialTest, Evaluation_ThatDoesNotFit_FailsInItsOwnPhase) {
  const Observation seen = Run({.batch = 1,
                                .evaluation_batch = 1 << 16,
                                .limit_bytes = memory_->HeldBytes() + 8 * kParameterBytes});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(seen.failure->phase, TrialPhase::kEvaluation);
  EXPECT_FALSE(seen.failure->step.has_value());
  EXPECT_EQ(seen.steps.size(), 3u);
}

TEST_F(RunTrialTest, Peak_ThatGrowsInTheLastStep_IsUnsettled) {
  std::vector<at::Tensor> kept;
  workload_.mutate = [&](at::Tensor output) {
    kept.push_back(at::empty({kMiB}, at::kByte));
    return output;
  };
  const Observation seen = Run({.batch = 1, .steps = 4});
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen.unsettled);
}

TEST_F(RunTrialTest, Trial_OfNoSamples_IsRefused) {
  EXPECT_EQ(Run({.batch = 0}).failure->kind, FailureKind::kProtocol);
  EXPECT_EQ(Run({.steps = 0}).failure->kind, FailureKind::kProtocol);
}

}  // namespace
}  // namespace autobatch
