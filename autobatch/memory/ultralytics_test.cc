#include "autobatch/memory/ultralytics.h"

#include <cmath>
#include <optional>

#include "autobatch/base/units.h"
#include "autobatch/memory/fake_profiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr std::nullopt_t kFailed = std::nullopt;

SeedReadings Gpu() { return {.name = "GPU", .total_bytes = 12 * kGiB}; }

FakeProfiler SquareRoot() { return {.memory = {1.0, std::sqrt(2.0), 2.0, std::sqrt(8.0), 4.0}}; }

TEST(Ultralytics, PowerLaw_IsSolvedForTheFraction) {
  FakeProfiler profiler = SquareRoot();
  const SeedAnswer answer = UltralyticsAutoBatch({}, Gpu(), profiler);
  ASSERT_TRUE(answer.batch.ok()) << answer.batch.status();
  EXPECT_EQ(*answer.batch, 52);  // 7.2 squared = 51.84, rounded
  EXPECT_THAT(
      Texts(answer),
      ElementsAre("AutoBatch: Computing optimal batch size for imgsz=640 at 60.0% CUDA memory "
                  "utilization.",
                  "AutoBatch: CUDA:0 (GPU) 12.00G total, 0.00G reserved, 0.00G allocated, 12.00G "
                  "free",
                  "AutoBatch: Using batch-size 52 for CUDA:0 7.21G/12.00G (60%) ✅"));
  EXPECT_EQ(profiler.asked->repetitions, 1);
  EXPECT_EQ(profiler.asked->max_num_obj, 1);
}

TEST(Ultralytics, AnyErrorInTheFit_IsTheDefaultWithAWarning) {
  const auto text = [](const FakeProfiler& profiler, double fraction = 0.6) {
    const SeedAnswer answer =
        UltralyticsAutoBatch({.fraction = fraction, .default_batch = 5}, Gpu(), profiler);
    EXPECT_EQ(*answer.batch, 5);
    EXPECT_EQ(answer.log.back().level, LogLevel::kWarning);
    return answer.log.back().text;
  };
  EXPECT_EQ(text({.status = absl::UnknownError("boom")}),
            "AutoBatch: WARNING ⚠️ error detected: boom,  using default batch-size 5.");
  EXPECT_THAT(text({.memory = {kFailed, kFailed, kFailed, kFailed, kFailed}}),
              HasSubstr("expected non-empty vector for x"));
  EXPECT_THAT(text({.memory = {3.0, kFailed, kFailed, kFailed, kFailed}}),
              HasSubstr("SVD did not converge"));
  EXPECT_THAT(text(SquareRoot(), -1), HasSubstr("cannot convert float NaN to integer"));
  EXPECT_THAT(text({.memory = {1.0}}), HasSubstr("the profiler answered for 1 of 5 sizes"));
}

TEST(Ultralytics, EstimateOutsideTheRange_IsNamedToTheLastDigit) {
  FakeProfiler profiler{.memory = {1.0, 1.01, 1.02, 1.03, 1.04}};
  const SeedAnswer answer = UltralyticsAutoBatch({}, Gpu(), profiler);
  EXPECT_EQ(*answer.batch, 16);
  ASSERT_EQ(answer.log.size(), 4u);
  EXPECT_EQ(answer.log[2].level, LogLevel::kInfo);
  EXPECT_THAT(answer.log[2].text, MatchesRegex(".*batch=[0-9]+ outside safe range.*"));
  EXPECT_GT(answer.log[2].text.size(), 140u);
}

TEST(Ultralytics, EstimateAboveAFailure_IsTheSizeBeforeIt) {
  FakeProfiler profiler{.memory = {1.0, std::sqrt(2.0), kFailed, std::sqrt(8.0), 4.0}};
  EXPECT_EQ(*UltralyticsAutoBatch({}, Gpu(), profiler).batch, 2);
}

TEST(Ultralytics, DeviceLabel_IsTheFirstCharacterOfTheVariable) {
  const auto label = [](const std::optional<std::string>& variable) {
    SeedReadings readings = Gpu();
    readings.device = "cuda:3";
    readings.cuda_visible_devices = variable;
    FakeProfiler profiler = SquareRoot();
    const SeedAnswer answer = UltralyticsAutoBatch({}, readings, profiler);
    return answer.batch.ok() ? answer.log[1].text.substr(11, 7)
                             : std::string(answer.batch.status().message());
  };
  EXPECT_EQ(label(std::nullopt), "CUDA:0 ");
  EXPECT_EQ(label(" 2,1"), "CUDA:2 ");
  EXPECT_EQ(label("GPU-9e"), "CUDA:G ");
  EXPECT_EQ(label("é"), "CUDA:é");
  EXPECT_THAT(label(" "), HasSubstr("CUDA_VISIBLE_DEVICES is empty"));
}

TEST(Ultralytics, CpuMpsAndBenchmark_AreNotProfiled) {
  FakeProfiler profiler;
  for (const char* device : {"cpu", "mps"}) {
    SeedReadings readings = Gpu();
    readings.device = device;
    EXPECT_EQ(UltralyticsAutoBatch({}, readings, profiler).log[1].text,
              "AutoBatch:  ⚠️ intended for CUDA devices, using default batch-size 16");
  }
  SeedReadings readings = Gpu();
  readings.cudnn_benchmark = true;
  EXPECT_EQ(*UltralyticsAutoBatch({.default_batch = 4}, readings, profiler).batch, 4);
  EXPECT_FALSE(profiler.asked.has_value());
}

TEST(Ultralytics, Check_ReadsBatchAsAFraction) {
  FakeProfiler profiler = SquareRoot();
  const SeedAnswer answer = UltralyticsCheckTrainBatchSize(
      {.amp = false, .batch = 0.5, .max_num_obj = 40}, Gpu(), profiler);
  EXPECT_EQ(*answer.batch, 36);
  EXPECT_EQ(profiler.asked->autocast, false);
  EXPECT_EQ(profiler.asked->max_num_obj, 40);
}

}  // namespace
}  // namespace autobatch
