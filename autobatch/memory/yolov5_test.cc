#include "autobatch/memory/yolov5.h"

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

SeedReadings Gpu() { return {.name = "GPU", .total_bytes = 24 * kGiB}; }

TEST(Yolov5, AffineMemory_IsSolvedForTheFraction) {
  FakeProfiler profiler{.memory = {3.5, 4.0, 5.0, 7.0, 11.0}};
  const SeedAnswer answer = Yolov5AutoBatch({}, Gpu(), profiler);
  ASSERT_TRUE(answer.batch.ok()) << answer.batch.status();
  EXPECT_EQ(*answer.batch, 32);  // (24 * 0.8 - 3) / 0.5 = 32.4
  EXPECT_THAT(Texts(answer),
              ElementsAre("AutoBatch: Computing optimal batch size for --imgsz 640",
                          "AutoBatch: CUDA:0 (GPU) 24.00G total, 0.00G reserved, 0.00G allocated, "
                          "24.00G free",
                          "AutoBatch: Using batch-size 32 for CUDA:0 19.00G/24.00G (79%) ✅"));
  EXPECT_EQ(profiler.asked->repetitions, 3);
  EXPECT_FALSE(profiler.asked->autocast.has_value());
}

TEST(Yolov5, ProfilersLines_StandBeforeTheClosingLine) {
  FakeProfiler profiler{.memory = {3.5, 4.0, 5.0, 7.0, 11.0}, .log = {{LogLevel::kInfo, "row"}}};
  const SeedAnswer answer = Yolov5AutoBatch({}, Gpu(), profiler);
  ASSERT_EQ(answer.log.size(), 4u);
  EXPECT_EQ(answer.log[2].text, "row");
}

TEST(Yolov5, EstimateAboveAFailure_IsTheSizeBeforeIt) {
  FakeProfiler profiler{.memory = {3.5, 4.0, 5.0, kFailed, kFailed}};
  EXPECT_EQ(*Yolov5AutoBatch({}, Gpu(), profiler).batch, 4);
  FakeProfiler first{.memory = {kFailed, 4.0, 5.0, 7.0, 11.0}};
  EXPECT_EQ(*Yolov5AutoBatch({}, Gpu(), first).batch, 1);
}

TEST(Yolov5, EstimateOutsideTheRange_IsTheDefaultWithAWarning) {
  for (const auto& memory : {std::vector<std::optional<double>>{9, 8, 7, 6, 5},
                             std::vector<std::optional<double>>{1.001, 1.002, 1.004, 1.008, 1.016},
                             std::vector<std::optional<double>>{30, 31, 33, 37, 45}}) {
    FakeProfiler profiler{.memory = memory};
    const SeedAnswer answer = Yolov5AutoBatch({.default_batch = 7}, Gpu(), profiler);
    EXPECT_EQ(*answer.batch, 7);
    ASSERT_EQ(answer.log.size(), 4u);
    EXPECT_EQ(answer.log[2].level, LogLevel::kWarning);
  }
}

TEST(Yolov5, NothingToFit_IsAnError) {
  FakeProfiler none{.memory = {kFailed, kFailed, kFailed, kFailed, kFailed}};
  EXPECT_EQ(Yolov5AutoBatch({}, Gpu(), none).batch.status().code(),
            absl::StatusCode::kInvalidArgument);
  FakeProfiler zeros{.memory = {0, 0, 0, 0, 0}};
  EXPECT_EQ(Yolov5AutoBatch({}, Gpu(), zeros).batch.status().code(), absl::StatusCode::kOutOfRange);
}

TEST(Yolov5, ProfilerThatRaises_IsLoggedAndAnError) {
  FakeProfiler profiler{.status = absl::UnknownError("CUDA out of memory.")};
  const SeedAnswer answer = Yolov5AutoBatch({}, Gpu(), profiler);
  EXPECT_EQ(answer.batch.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(answer.log.back().text, "AutoBatch: CUDA out of memory.");
  EXPECT_EQ(answer.log.back().level, LogLevel::kWarning);
}

TEST(Yolov5, CpuAndCudnnBenchmark_AreNotProfiled) {
  FakeProfiler profiler;
  SeedReadings readings = Gpu();
  readings.cudnn_benchmark = true;
  EXPECT_THAT(Texts(Yolov5AutoBatch({}, readings, profiler))[1],
              HasSubstr(" ⚠️ Requires torch.backends.cudnn.benchmark=False"));
  readings.device = "cpu";
  const SeedAnswer answer = Yolov5AutoBatch({.default_batch = 3}, readings, profiler);
  EXPECT_EQ(*answer.batch, 3);
  EXPECT_EQ(answer.log[1].text, "AutoBatch: CUDA not detected, using default CPU batch-size 3");
  EXPECT_FALSE(profiler.asked.has_value());
}

TEST(Yolov5, Check_ProfilesUnderAutocast) {
  FakeProfiler profiler{.memory = {3.5, 4.0, 5.0, 7.0, 11.0}};
  EXPECT_EQ(*Yolov5CheckTrainBatchSize(320, false, Gpu(), profiler).batch, 32);
  EXPECT_EQ(profiler.asked->autocast, false);
  EXPECT_EQ(profiler.asked->image_size, 320);
}

}  // namespace
}  // namespace autobatch
