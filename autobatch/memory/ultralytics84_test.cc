#include "autobatch/memory/ultralytics84.h"

#include <optional>

#include "autobatch/base/units.h"
#include "autobatch/memory/fake_profiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::nullopt_t kFailed = std::nullopt;

SeedReadings Gpu() { return {.name = "GPU", .total_bytes = 12 * kGiB, .free_bytes = 10 * kGiB}; }

FakeProfiler Affine() { return {.memory = {1.5, 2.0, 3.0, 5.0, 9.0}}; }

TEST(Ultralytics84, AffineMemory_IsSolvedForWhatIsAvailable) {
  FakeProfiler profiler = Affine();
  SeedReadings readings = Gpu();
  readings.reserved_bytes = kGiB;
  const SeedAnswer answer = Ultralytics84AutoBatch({}, readings, profiler);
  ASSERT_TRUE(answer.batch.ok()) << answer.batch.status();
  EXPECT_EQ(*answer.batch, 11);  // (11 * 0.6 - 1) / 0.5 = 11.2
  EXPECT_THAT(Texts(answer),
              ElementsAre("AutoBatch: Computing optimal batch size for imgsz=640 at 60.0% GPU "
                          "memory utilization.",
                          "AutoBatch: CUDA:0 (GPU) 12.00G total, 1.00G reserved, 11.00G available",
                          "AutoBatch: Using batch-size 11 for CUDA:0 6.50G/12.00G (54%) ✅"));
}

TEST(Ultralytics84, UnknownFree_IsTheTotal) {
  FakeProfiler profiler = Affine();
  SeedReadings readings = Gpu();
  readings.free_bytes.reset();
  readings.device = "cuda";
  const SeedAnswer answer = Ultralytics84AutoBatch({}, readings, profiler);
  EXPECT_THAT(answer.log[1].text, HasSubstr("CUDA:None (GPU) 12.00G total"));
  EXPECT_THAT(answer.log[1].text, HasSubstr("12.00G available"));
}

TEST(Ultralytics84, FailureAboveASuccess_IsTheCeiling) {
  FakeProfiler profiler{.memory = {1.5, 2.0, kFailed, 5.0, kFailed}};
  EXPECT_EQ(*Ultralytics84AutoBatch({}, Gpu(), profiler).batch, 2);
}

TEST(Ultralytics84, FailureBelowASuccess_IsNoCeiling) {
  FakeProfiler profiler{.memory = {kFailed, 2.0, 3.0, 5.0, 9.0}};
  EXPECT_EQ(*Ultralytics84AutoBatch({.fraction = 0.63}, Gpu(), profiler).batch, 10);
  FakeProfiler two{.memory = {kFailed, kFailed, 3.0, 5.0, 9.0}};
  EXPECT_EQ(*Ultralytics84AutoBatch({.fraction = 0.63}, Gpu(), two).batch, 10);
}

TEST(Ultralytics84, Estimate_IsClampedToTheSmallestUsableAnd1024) {
  FakeProfiler steep{.memory = {kFailed, 11.0, 11.5, kFailed, kFailed}};
  EXPECT_EQ(*Ultralytics84AutoBatch({}, Gpu(), steep).batch, 2);
  FakeProfiler shallow{.memory = {1.001, 1.002, 1.004, 1.008, 1.016}};
  EXPECT_EQ(*Ultralytics84AutoBatch({}, Gpu(), shallow).batch, 1024);
}

TEST(Ultralytics84, DatasetSize_CapsTheSizesAndTheAnswer) {
  FakeProfiler profiler = Affine();
  EXPECT_EQ(*Ultralytics84AutoBatch({.dataset_size = 5}, Gpu(), profiler).batch, 5);
  EXPECT_THAT(profiler.asked->batch_sizes, ElementsAre(1, 2, 4));
}

TEST(Ultralytics84, NoUsableSize_IsAnErrorThatNamesTheSizes) {
  FakeProfiler profiler{.memory = {kFailed, 0.0, 12.0, 13.0, kFailed}};
  const SeedAnswer answer = Ultralytics84AutoBatch({}, Gpu(), profiler);
  EXPECT_EQ(answer.batch.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(answer.batch.status().message()), HasSubstr("[1, 2, 4, 8, 16]"));
  EXPECT_EQ(answer.log.size(), 2u);
}

TEST(Ultralytics84, ProfilerThatRaises_IsTheDefaultWithAWarning) {
  FakeProfiler profiler{.status = absl::UnknownError("boom")};
  const SeedAnswer answer = Ultralytics84AutoBatch({}, Gpu(), profiler);
  EXPECT_EQ(*answer.batch, 16);
  EXPECT_EQ(answer.log.back().text,
            "AutoBatch: error detected: boom,  using default batch-size 16.");
  EXPECT_EQ(answer.log.back().level, LogLevel::kWarning);
}

TEST(Ultralytics84, CpuAndBenchmark_AreNotProfiled) {
  FakeProfiler profiler;
  SeedReadings readings = Gpu();
  readings.cudnn_benchmark = true;
  EXPECT_EQ(
      Ultralytics84AutoBatch({}, readings, profiler).log[1].text,
      "AutoBatch: Requires torch.backends.cudnn.benchmark=False, using default batch-size 16");
  readings.device = "mps";
  EXPECT_EQ(Ultralytics84AutoBatch({}, readings, profiler).log[1].text,
            "AutoBatch: intended for GPU devices, using default batch-size 16");
  EXPECT_FALSE(profiler.asked.has_value());
}

TEST(Ultralytics84, Check_ReadsBatchAsAFraction) {
  FakeProfiler profiler = Affine();
  const SeedAnswer answer = Ultralytics84CheckTrainBatchSize(
      {.batch = 0.9, .max_num_obj = 3, .dataset_size = 100}, Gpu(), profiler);
  EXPECT_EQ(*answer.batch, 16);
  EXPECT_EQ(profiler.asked->autocast, true);
  EXPECT_EQ(profiler.asked->max_num_obj, 3);
}

}  // namespace
}  // namespace autobatch
