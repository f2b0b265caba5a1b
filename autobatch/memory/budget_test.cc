#include "autobatch/memory/budget.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "autobatch/base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

BudgetModel Make(BudgetOptions options) {
  absl::StatusOr<BudgetModel> model = BudgetModel::Create(std::move(options));
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

Margin Get(const BudgetModel& model, const std::string& name) {
  for (const Margin& margin : model.Margins()) {
    if (margin.name == name) return margin;
  }
  ADD_FAILURE() << "no margin " << name;
  return {};
}

BudgetOptions Cuda() { return {.device = DeviceKind::kCuda, .total_bytes = 80 * kGiB}; }

// A trial whose driver-side free memory fell by `fell` while the allocator reserved `reserved`.
Observation Trial(int64_t fell, int64_t reserved) {
  Observation observation;
  observation.steady = MemoryPeak{.reserved_bytes = reserved};
  observation.free_before_bytes = 70 * kGiB;
  observation.free_after_bytes = 70 * kGiB - fell;
  return observation;
}

TEST(Budget, Cpu_HoldsBackHeadroomOnly) {
  const BudgetModel model = Make({.device = DeviceKind::kCpu, .total_bytes = 2 * kGiB});
  EXPECT_EQ(model.Margins().size(), 6u);
  EXPECT_EQ(model.ReserveBytes(), 256 * kMiB);
  EXPECT_FALSE(model.LimitBytes().has_value());
  for (const Margin& margin : model.Margins()) EXPECT_FALSE(margin.note.empty()) << margin.name;
}

TEST(Budget, CudaDefaults_AreNamedAsSuch) {
  const BudgetModel model = Make(Cuda());
  EXPECT_EQ(Get(model, kContextGrowth).bytes, 256 * kMiB);
  EXPECT_EQ(Get(model, kContextGrowth).source, MarginSource::kDefault);
  EXPECT_EQ(Get(model, kCommunicator).bytes, 0);
  EXPECT_EQ(Get(model, kGradientBuckets).bytes, 0);
  EXPECT_EQ(Get(model, kFragmentation).bytes, 20 * kMiB);
  // 2 % of 80 GiB, rounded up.
  EXPECT_EQ(Get(model, kHeadroom).bytes, 1717986919);
}

TEST(Budget, Reserve_IsTheSumOfTheMargins) {
  BudgetOptions options = Cuda();
  options.world_size = 8;
  BudgetModel model = Make(options);
  Observation trial = Trial(10 * kGiB, 9 * kGiB);
  trial.parameters = 25'557'032;
  model.Observe(trial);
  int64_t sum = 0;
  for (const Margin& margin : model.Margins()) sum += margin.bytes;
  EXPECT_EQ(model.ReserveBytes(), sum);
}

TEST(Budget, ContextGrowth_IsTheLargestThatWasMeasured) {
  BudgetModel model = Make(Cuda());
  model.Observe(Trial(10 * kGiB + 300 * kMiB, 10 * kGiB));
  EXPECT_EQ(Get(model, kContextGrowth).bytes, 300 * kMiB);
  EXPECT_EQ(Get(model, kContextGrowth).source, MarginSource::kMeasured);
  model.Observe(Trial(12 * kGiB, 12 * kGiB));  // Kernels are loaded: no growth.
  EXPECT_EQ(Get(model, kContextGrowth).bytes, 300 * kMiB);
  model.Observe(Trial(12 * kGiB + 400 * kMiB, 12 * kGiB));
  EXPECT_EQ(Get(model, kContextGrowth).bytes, 400 * kMiB);
}

TEST(Budget, ContextGrowth_IsNeverNegative) {
  BudgetModel model = Make(Cuda());
  model.Observe(Trial(kGiB, 2 * kGiB));  // Another process ended meanwhile.
  EXPECT_EQ(Get(model, kContextGrowth).bytes, 0);
}

TEST(Budget, TrialsThatCannotTellGrowth_TeachNone) {
  BudgetModel model = Make(Cuda());
  Observation failed = Trial(20 * kGiB, kGiB);
  failed.failure = Failure{.kind = FailureKind::kOutOfMemory};
  model.Observe(failed);
  Observation retried = Trial(20 * kGiB, kGiB);
  retried.retries = 1;
  model.Observe(retried);
  Observation silent = Trial(20 * kGiB, kGiB);
  silent.free_after_bytes.reset();
  model.Observe(silent);
  EXPECT_EQ(Get(model, kContextGrowth).source, MarginSource::kDefault);
}

TEST(Budget, SeveralRanks_ReserveForCommunicatorAndBuckets) {
  BudgetOptions options = Cuda();
  options.world_size = 4;
  BudgetModel model = Make(options);
  EXPECT_EQ(Get(model, kCommunicator).bytes, kGiB);
  EXPECT_THAT(Get(model, kGradientBuckets).note, HasSubstr("declare"));
  Observation observation;
  observation.parameters = 11'689'512;
  model.Observe(observation);
  EXPECT_EQ(Get(model, kGradientBuckets).bytes, 4 * 11'689'512);
  EXPECT_THAT(Get(model, kGradientBuckets).note, HasSubstr("11,689,512"));
}

TEST(Budget, BucketsInTheTrial_AreNotHeldBackTwice) {
  BudgetOptions options = Cuda();
  options.world_size = 4;
  options.trials_carry_gradient_buckets = true;
  BudgetModel model = Make(options);
  Observation observation;
  observation.parameters = 11'689'512;
  model.Observe(observation);
  EXPECT_EQ(Get(model, kGradientBuckets).bytes, 0);
  EXPECT_EQ(Get(model, kGradientBuckets).source, MarginSource::kMeasured);
}

TEST(Budget, CpuRanks_HaveNoNcclMargin) {
  BudgetModel model = Make({.device = DeviceKind::kCpu, .total_bytes = kGiB, .world_size = 2});
  EXPECT_EQ(Get(model, kCommunicator).bytes, 0);
}

TEST(Budget, GivenMargin_ReplacesTheDefaultAndKeepsItsSource) {
  BudgetOptions options = Cuda();
  options.world_size = 2;
  options.given = {{kCommunicator, 3 * kGiB, MarginSource::kMeasured, "first round"},
                   {kEvaluation, kMiB, MarginSource::kDeclared, "mine"}};
  const BudgetModel model = Make(options);
  EXPECT_EQ(Get(model, kCommunicator).bytes, 3 * kGiB);
  EXPECT_EQ(Get(model, kCommunicator).source, MarginSource::kMeasured);
  EXPECT_EQ(Get(model, kCommunicator).note, "first round");
  EXPECT_EQ(Get(model, kEvaluation).bytes, kMiB);
}

TEST(Budget, Headroom_FollowsTheUser) {
  BudgetOptions options = Cuda();
  options.headroom_bytes = 0;
  EXPECT_EQ(Get(Make(options), kHeadroom).bytes, 0);
  EXPECT_EQ(Get(Make(options), kHeadroom).source, MarginSource::kDeclared);
  options.headroom_bytes.reset();
  options.headroom_fraction = 0.25;
  EXPECT_EQ(Get(Make(options), kHeadroom).bytes, 20 * kGiB);
  EXPECT_THAT(Get(Make(options), kHeadroom).note, HasSubstr("25 %"));
}

TEST(Budget, UnknownTotal_LeavesTheLeastHeadroom) {
  const BudgetModel model = Make({.device = DeviceKind::kMig});
  EXPECT_EQ(Get(model, kHeadroom).bytes, 256 * kMiB);
  EXPECT_THAT(Get(model, kHeadroom).note, HasSubstr("does not tell"));
}

TEST(Budget, MemoryLimit_ContainsTheReserve) {
  BudgetOptions options = Cuda();
  options.memory_limit_bytes = 10 * kGiB;
  const BudgetModel model = Make(options);
  // Headroom is a share of what may be used, not of the whole device.
  EXPECT_EQ(Get(model, kHeadroom).bytes, 256 * kMiB);
  EXPECT_EQ(model.LimitBytes(), 10 * kGiB - model.ReserveBytes());
  options.memory_limit_bytes = kMiB;
  EXPECT_EQ(Make(options).LimitBytes(), 0);
}

TEST(Budget, HugeMargins_Saturate) {
  const int64_t max = std::numeric_limits<int64_t>::max();
  BudgetOptions options = Cuda();
  options.given = {{kEvaluation, max, MarginSource::kDeclared, ""},
                   {kCommunicator, max, MarginSource::kDeclared, ""}};
  options.memory_limit_bytes = kGiB;
  EXPECT_EQ(Make(options).ReserveBytes(), max);
  EXPECT_EQ(Make(options).LimitBytes(), 0);
}

TEST(Budget, OptionsThatMakeNoSense_AreRefused) {
  const auto refuses = [](auto change, const std::string& says) {
    BudgetOptions options = Cuda();
    change(options);
    const absl::Status status = BudgetModel::Create(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  };
  refuses([](BudgetOptions& o) { o.world_size = 0; }, "world size");
  refuses([](BudgetOptions& o) { o.total_bytes = 0; }, "total memory");
  refuses([](BudgetOptions& o) { o.memory_limit_bytes = -1; }, "memory limit");
  refuses([](BudgetOptions& o) { o.headroom_bytes = -1; }, "below 0");
  refuses([](BudgetOptions& o) { o.headroom_fraction = 1.0; }, "below 1");
  refuses([](BudgetOptions& o) { o.headroom_fraction = std::nan(""); }, "below 1");
  refuses([](BudgetOptions& o) { o.headroom_fraction = 0.1, o.total_bytes.reset(); }, "give bytes");
  refuses([](BudgetOptions& o) { o.headroom_fraction = 0.1, o.headroom_bytes = 1; }, "once");
  refuses([](BudgetOptions& o) { o.given = {{"headrom", 1}}; }, "did you mean 'headroom'");
  refuses([](BudgetOptions& o) { o.given = {{kEvaluation, -1}}; }, "below 0");
  refuses([](BudgetOptions& o) { o.given = {{kEvaluation, 1}, {kEvaluation, 2}}; }, "twice");
}

}  // namespace
}  // namespace autobatch
