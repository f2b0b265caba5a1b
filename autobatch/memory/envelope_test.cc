#include "autobatch/memory/envelope.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "autobatch/base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::vector<MemoryPoint> Affine(double intercept, double slope,
                                const std::vector<int64_t>& batches) {
  std::vector<MemoryPoint> points;
  points.reserve(batches.size());
  for (const int64_t batch : batches) {
    points.push_back({batch, static_cast<int64_t>(intercept + slope * batch)});
  }
  return points;
}

TEST(Envelope, AffinePoints_GiveTheirLineWithoutBand) {
  const auto fit = FitEnvelope(Affine(3e9, 1e8, {1, 4, 16, 64}));
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_DOUBLE_EQ(fit->Summary().slope_bytes_per_sample, 1e8);
  EXPECT_NEAR(fit->Summary().intercept_bytes, 3e9, 1);
  EXPECT_NEAR(fit->Summary().band_bytes, 0, 1);
  EXPECT_EQ(fit->Summary().floor_bytes, 0);
  EXPECT_EQ(fit->Summary().points, 4);
  EXPECT_EQ(fit->LargestWithin(13'000'000'000), 100);
  EXPECT_EQ(fit->LargestWithin(12'999'999'990), 99);
}

TEST(Envelope, OrderAndDuplicates_DoNotMatter) {
  std::vector<MemoryPoint> points = Affine(3e9, 1e8, {64, 1, 16, 4});
  points.push_back({16, 5});  // The larger bytes of a batch count.
  const auto fit = FitEnvelope(points);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_DOUBLE_EQ(fit->Summary().slope_bytes_per_sample, 1e8);
}

TEST(Envelope, LeadingFlatPoints_AreTheFloor) {
  const auto fit = FitEnvelope(std::vector<MemoryPoint>{
      {1, 5000}, {2, 5000}, {4, 5010}, {16, 8000}, {32, 15200}, {64, 29600}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->Summary().floor_bytes, 5010);
  EXPECT_EQ(fit->Summary().points, 3);
  EXPECT_DOUBLE_EQ(fit->Summary().slope_bytes_per_sample, 450);
  EXPECT_EQ(fit->Expected(1), 5010);
  EXPECT_EQ(fit->LargestWithin(5009), 0);
  EXPECT_EQ(fit->LargestWithin(5010), 9);
}

TEST(Envelope, MemoryThatBendsUpwards_IsExtrapolatedByTheLastSecant) {
  const auto fit =
      FitEnvelope(std::vector<MemoryPoint>{{8, 800}, {16, 1600}, {32, 3200}, {64, 7200}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_DOUBLE_EQ(fit->Summary().slope_bytes_per_sample, 125);
  EXPECT_DOUBLE_EQ(fit->Expected(64), 7200);
}

TEST(Envelope, MemoryThatBendsDownwards_IsExtrapolatedByLeastSquares) {
  const auto fit = FitEnvelope(std::vector<MemoryPoint>{{16, 2000}, {32, 4000}, {64, 7000}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_GT(fit->Summary().slope_bytes_per_sample, 3000.0 / 32);
  EXPECT_DOUBLE_EQ(fit->Expected(64), 7000);
}

TEST(Envelope, Stairs_WidenTheBand) {
  const auto fit = FitEnvelope(
      std::vector<MemoryPoint>{{16, 1600}, {24, 2500}, {32, 3200}, {48, 4900}, {64, 6400}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_GT(fit->Summary().band_bytes, 50);
  EXPECT_DOUBLE_EQ(fit->Upper(100), fit->Expected(100) + fit->Summary().band_bytes);
}

struct Refused {
  std::vector<MemoryPoint> points;
  absl::StatusCode code;
  std::string says;
};

TEST(Envelope, PointsThatWouldMislead_AreRefusedByName) {
  const std::vector<Refused> cases = {
      {{}, absl::StatusCode::kFailedPrecondition, "there are 0"},
      {{{4, 100}}, absl::StatusCode::kFailedPrecondition, "there is 1"},
      {{{4, 100}, {4, 90}}, absl::StatusCode::kFailedPrecondition, "there is 1"},
      {{{1, 1000}, {4, 900}, {16, 2000}}, absl::StatusCode::kFailedPrecondition, "memory falls"},
      {{{1, 1000}, {4, 1000}}, absl::StatusCode::kFailedPrecondition, "does not grow"},
      {{{1, 1000}, {4, 990}}, absl::StatusCode::kFailedPrecondition, "does not grow"},
      {{{1, 100}, {16, 9000}, {32, 9500}}, absl::StatusCode::kFailedPrecondition, "too wide"},
      {{{0, 100}, {4, 200}}, absl::StatusCode::kInvalidArgument, "batch 0"},
      {{{1, -1}, {4, 200}}, absl::StatusCode::kInvalidArgument, "-1 bytes"},
  };
  for (const Refused& refused : cases) {
    const auto fit = FitEnvelope(refused.points);
    EXPECT_EQ(fit.status().code(), refused.code) << refused.says << " " << fit.status();
    EXPECT_THAT(std::string(fit.status().message()), HasSubstr(refused.says));
  }
}

TEST(Envelope, HugeValues_DoNotOverflow) {
  const auto fit = FitEnvelope(std::vector<MemoryPoint>{{1, 0}, {kMax, 1}});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->LargestWithin(kMax), kMax);
  EXPECT_EQ(fit->LargestWithin(-1), 0);
  const auto steep = FitEnvelope(std::vector<MemoryPoint>{{1, 1}, {2, kMax}});
  ASSERT_TRUE(steep.ok()) << steep.status();
  EXPECT_EQ(steep->LargestWithin(kMax - 1024), 1);
}

// A floor, a line, stairs of an allocator, and noise: what the fit has to live with.
TEST(EnvelopeProperty, RandomCurves_LargestWithinKeepsToTheUpperEdge) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int fitted = 0;
  for (int round = 0; round < 2000; ++round) {
    const double intercept = uniform(0, 4e9);
    const double slope = std::exp(uniform(std::log(1e5), std::log(2e9)));
    const double floor = uniform(0, 2) * intercept;
    const double step = uniform(0, 1) < 0.5 ? 1 : 20.0 * kMiB;
    std::vector<MemoryPoint> points;
    for (int64_t batch = 1; batch <= 1024; batch *= 4) {
      const double exact = std::max(floor, intercept + slope * batch);
      const double noisy = exact * (1 + uniform(-0.01, 0.01));
      points.push_back({batch, static_cast<int64_t>(std::ceil(noisy / step) * step)});
    }
    const auto fit = FitEnvelope(points);
    if (!fit.ok()) {
      EXPECT_EQ(fit.status().code(), absl::StatusCode::kFailedPrecondition) << fit.status();
      continue;
    }
    ++fitted;
    ASSERT_GT(fit->Summary().slope_bytes_per_sample, 0);
    for (const MemoryPoint& point : points) {
      ASSERT_LE(fit->Expected(point.batch), fit->Upper(point.batch));
    }
    // The upper edge covers the upper half of the points.
    for (size_t i = points.size() / 2; i < points.size(); ++i) {
      ASSERT_GE(fit->Upper(points[i].batch) * (1 + 1e-12), points[i].bytes) << "round " << round;
    }
    int64_t before = 0;
    for (int64_t budget = 1'000'000'000; budget < 100'000'000'000'000; budget *= 3) {
      const int64_t batch = fit->LargestWithin(budget);
      ASSERT_GE(batch, before) << "round " << round;
      before = batch;
      if (batch > 0) ASSERT_LE(fit->Upper(batch), budget) << "round " << round;
      ASSERT_GT(fit->Upper(batch + 1), budget * (1 - 1e-12)) << "round " << round;
    }
  }
  EXPECT_GT(fitted, 1000);
}

TEST(EnvelopeProperty, NoiselessCurves_PredictTheTrueMaximum) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const int64_t intercept = std::uniform_int_distribution<int64_t>(0, 8 * kGiB)(random);
    const int64_t slope = std::uniform_int_distribution<int64_t>(kMiB, kGiB)(random);
    const int64_t budget =
        intercept + slope + std::uniform_int_distribution<int64_t>(0, 80 * kGiB)(random);
    std::vector<MemoryPoint> points;
    for (int64_t batch = 1; batch <= 64; batch *= 4) {
      points.push_back({batch, intercept + slope * batch});
    }
    const auto fit = FitEnvelope(points);
    ASSERT_TRUE(fit.ok()) << fit.status();
    const int64_t truth = (budget - intercept) / slope;
    // One sample of rounding where the budget lies exactly on the line.
    ASSERT_LE(std::abs(fit->LargestWithin(budget) - truth), 1) << "round " << round;
  }
}

}  // namespace
}  // namespace autobatch
