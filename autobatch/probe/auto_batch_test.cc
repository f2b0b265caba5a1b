#include "autobatch/probe/auto_batch.h"

#include <gmock/gmock.h>

#include "autobatch/base/units.h"
#include "autobatch/probe/device_estimate.h"
#include "autobatch/trial/scripted_trial_runner.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kSample = 200 * kMiB;

// Memory is 1 GiB and 200 MiB a sample, on a device of 10 GiB.
Observation RunOnCard(const TrialSpec& trial) {
  Observation seen;
  seen.trial = trial;
  const int64_t need = kGiB + kSample * trial.batch;
  if (need > 10 * kGiB) {
    seen.failure = Failure{.kind = FailureKind::kOutOfMemory, .message = "out of memory"};
    return seen;
  }
  seen.budget_bytes = 10 * kGiB - trial.reserve_bytes;
  seen.first_step = seen.steady = MemoryPeak{need, need, need};
  for (int64_t step = 1; step <= trial.steps; ++step) {
    seen.steps.push_back({.step = step, .step_ms = 5, .peak = {need, need, need}, .loss = 1.0});
  }
  seen.parameters = 11689512;
  seen.forward_flops = 3.6e9 * static_cast<double>(trial.batch);
  seen.forward_ms = 2;
  seen.backward_ms = 3;
  seen.step_ms = 5;
  seen.input_shapes = {"(1, 3, 640, 640)"};
  seen.output_shapes = {"(1, 1000)"};
  return seen;
}

Device Card() {
  return {.uuid = "GPU-1",
          .kind = DeviceKind::kCuda,
          .name = "card",
          .address = "cuda:0",
          .memory = {.total_bytes = 10 * kGiB, .free_bytes = 10 * kGiB}};
}

AutoBatchModel Model(std::vector<TrialSpec>* trials = nullptr) {
  AutoBatchModel model{.device = Card()};
  model.make_runner = [](const WorkloadSpec&) {
    return std::make_unique<ScriptedTrialRunner>(RunOnCard);
  };
  if (trials != nullptr) {
    model.on_trial = [trials](const Observation& seen) { trials->push_back(seen.trial); };
  }
  return model;
}

TEST(AutoBatchTest, Yolov5_ProfilesFiveSizesThreeTimesAndSolvesTheLine) {
  std::vector<TrialSpec> trials;
  const AutoBatchAnswer answer = AutoBatch(Model(&trials), {.estimator = Strategy::kYolov5});
  ASSERT_TRUE(answer.batch.ok()) << answer.batch.status();
  ASSERT_EQ(trials.size(), 5);
  EXPECT_EQ(trials[4].batch, 16);
  EXPECT_EQ(trials[4].steps, 3);
  // 0.8 of 10 GiB on the line that was profiled, in the package's units (bytes / 1e9 against GiB).
  const double slope = kSample / 1e9;
  EXPECT_EQ(*answer.batch, static_cast<int64_t>((0.8 * 10 - kGiB / 1e9) / slope));
}

TEST(AutoBatchTest, Log_HasMemoryLineARowASizeAndTheClosingLine) {
  const AutoBatchAnswer answer = AutoBatch(Model(), {.estimator = Strategy::kYolov5});
  ASSERT_EQ(answer.log.size(), 9);
  EXPECT_THAT(answer.log[0].text, HasSubstr("Computing optimal batch size"));
  EXPECT_THAT(answer.log[1].text, HasSubstr("CUDA:0 (card) 10.00G total"));
  EXPECT_THAT(answer.log[2].text, HasSubstr("GFLOPs"));
  EXPECT_THAT(answer.log[3].text, HasSubstr("11689512"));
  EXPECT_THAT(answer.log[8].text, StartsWith("AutoBatch: Using batch-size"));
}

TEST(AutoBatchTest, PlainCpu_IsAnsweredWithTheDefaultAndNothingRuns) {
  for (const Strategy estimator :
       {Strategy::kYolov5, Strategy::kUltralytics, Strategy::kUltralytics84}) {
    std::vector<TrialSpec> trials;
    AutoBatchModel model = Model(&trials);
    model.device.kind = DeviceKind::kCpu;
    model.device.address = "cpu";
    const AutoBatchAnswer answer = AutoBatch(model, {.estimator = estimator});
    EXPECT_EQ(*answer.batch, 16);
    EXPECT_TRUE(trials.empty());
    model.device = DeviceAsAccelerator(model.device);
    EXPECT_NE(AutoBatch(model, {.estimator = estimator}).observations.size(), 0);
  }
}

TEST(CheckTrainBatchSizeTest, Fraction_ReachesTheEstimator) {
  const AutoBatchAnswer little = CheckTrainBatchSize(Model(), {.batch = 0.3});
  const AutoBatchAnswer much = CheckTrainBatchSize(Model(), {.batch = 0.9});
  ASSERT_TRUE(little.batch.ok() && much.batch.ok());
  EXPECT_LT(*little.batch, *much.batch);
}

TEST(CheckTrainBatchSizeTest, Confirm_IsNoEstimator) {
  const AutoBatchAnswer answer = CheckTrainBatchSize(Model(), {.estimator = Strategy::kConfirm});
  EXPECT_EQ(answer.batch.status().code(), absl::StatusCode::kInvalidArgument);
}

DeviceResult Estimate(const ProbeSpec& spec) {
  ScriptedTrialRunner runner(RunOnCard);
  const DeviceProbeParts parts{
      .runner = runner, .clock = Clock::Real(), .stopped = [] { return std::nullopt; }};
  return *EstimateDevice(spec, Card(), 1, parts);
}

TEST(EstimateDeviceTest, WithoutConfirm_IsMarkedEstimated) {
  const DeviceResult result = Estimate({.strategy = Strategy::kUltralytics84});
  EXPECT_EQ(result.status, ResultStatus::kEstimated);
  EXPECT_TRUE(result.estimated_batch.has_value());
  EXPECT_EQ(result.confirmed_batch, std::nullopt);
  EXPECT_FALSE(result.log.empty());
}

TEST(EstimateDeviceTest, ConfirmedEstimate_RanAsItIs) {
  const DeviceResult result =
      Estimate({.strategy = Strategy::kUltralytics84, .confirm_estimate = true, .fraction = 0.5});
  EXPECT_EQ(result.status, ResultStatus::kConfirmed);
  EXPECT_EQ(result.confirmed_batch, result.estimated_batch);
}

TEST(EstimateDeviceTest, EstimateThatDoesNotFit_IsReplacedByWhatRuns) {
  const DeviceResult result =
      Estimate({.strategy = Strategy::kUltralytics84, .confirm_estimate = true, .fraction = 1.0});
  EXPECT_EQ(result.status, ResultStatus::kConfirmed);
  EXPECT_LT(*result.confirmed_batch, *result.estimated_batch);
  EXPECT_FALSE(result.warnings.empty());
}

}  // namespace
}  // namespace autobatch
