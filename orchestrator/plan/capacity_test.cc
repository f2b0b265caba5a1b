#include "orchestrator/plan/capacity.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

std::string Spelt(const std::vector<PlanGroup>& groups) {
  std::string out;
  for (const PlanGroup& group : groups) {
    absl::StrAppend(&out, out.empty() ? "" : " ", group.ranks, "x[");
    for (const MicroSteps& steps : group.steps) {
      absl::StrAppend(&out, &steps == group.steps.data() ? "" : ",", steps.count, "x",
                      steps.micro_batch);
    }
    out += "]";
  }
  return out;
}

TEST(Capacity, EqualRanks_HaveOneSampleEachAsTheirUnit) {
  const Capacity capacity = Capacity::Equal(8, 77);
  EXPECT_EQ(capacity.ranks(), 8);
  EXPECT_EQ(capacity.total(), 616);
  EXPECT_EQ(capacity.unit(), 8);
  EXPECT_EQ(capacity.parts(), 77);
}

TEST(Capacity, UnequalRanks_HaveTheLeastProportionalSplitAsTheirUnit) {
  const Capacity capacity = Capacity::PerRank(std::vector<int64_t>{64, 32, 64});
  EXPECT_EQ(capacity.total(), 160);
  EXPECT_EQ(capacity.unit(), 5);
  EXPECT_EQ(capacity.parts(), 32);
}

TEST(Capacity, MicroSteps_AreTheFewestThatTakeAll) {
  const Capacity capacity = Capacity::Equal(8, 77);
  EXPECT_EQ(capacity.MicroSteps(1), 1);
  EXPECT_EQ(capacity.MicroSteps(616), 1);
  EXPECT_EQ(capacity.MicroSteps(617), 2);
}

TEST(Capacity, Remainder_GoesToTheFirstRanksAndSteps) {
  EXPECT_EQ(Spelt(Capacity::Equal(4, 8).Spread(10, 1)), "2x[1x3] 2x[1x2]");
  EXPECT_EQ(Spelt(Capacity::Equal(2, 8).Spread(13, 2)), "1x[1x4,1x3] 1x[2x3]");
}

TEST(Capacity, FewerSamplesThanRanks_LeaveTheLastOnesWithout) {
  EXPECT_EQ(Spelt(Capacity::Equal(4, 8).Spread(3, 1)), "3x[1x1] 1x[1x0]");
}

TEST(Capacity, UnequalRanks_GetTheirProportion) {
  const std::vector<int64_t> batches = {10, 20, 10, 40};
  EXPECT_EQ(Spelt(Capacity::PerRank(batches).Spread(80, 1)), "1x[1x10] 1x[1x20] 1x[1x10] 1x[1x40]");
  EXPECT_EQ(Spelt(Capacity::PerRank(batches).Spread(16, 1)), "1x[1x2] 1x[1x4] 1x[1x2] 1x[1x8]");
  // 10/8, 20/8, 10/8 and 40/8: one is left over, and the second rank lost the most.
  EXPECT_EQ(Spelt(Capacity::PerRank(batches).Spread(10, 1)), "1x[1x1] 1x[1x3] 1x[1x1] 1x[1x5]");
}

TEST(Capacity, SmallRankBesideLargeOnes_GetsOneFromTheLargest) {
  EXPECT_EQ(Spelt(Capacity::PerRank(std::vector<int64_t>{1, 100, 1}).Spread(10, 1)),
            "1x[1x1] 1x[1x8] 1x[1x1]");
}

// Sums, ceilings and fairness against what each number means, for any capacities.
TEST(CapacityProperty, Spread_FillsNobodyBeyondCapacity) {
  std::random_device device;
  const uint64_t first = device();
  for (uint64_t seed = first; seed < first + 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 engine(seed);
    const auto from = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(engine);
    };
    std::vector<int64_t> batches(static_cast<size_t>(from(1, 20)));
    const int64_t top = int64_t{1} << from(0, 40);
    for (int64_t& batch : batches) batch = from(1, top);
    const Capacity capacity = Capacity::PerRank(batches);
    const int64_t most = static_cast<int64_t>(capacity.total()) * 3;
    const int64_t samples = from(1, most);
    const int64_t steps = capacity.MicroSteps(samples) + from(0, 2);
    size_t rank = 0;
    int64_t sum = 0;
    for (const PlanGroup& group : capacity.Spread(samples, steps)) {
      for (int64_t i = 0; i < group.ranks; ++i, ++rank) {
        int64_t count = 0;
        int64_t of_rank = 0;
        for (const MicroSteps& part : group.steps) {
          ASSERT_LE(part.micro_batch, batches[rank]);
          count += part.count;
          of_rank += part.count * part.micro_batch;
        }
        ASSERT_EQ(count, steps);
        if (samples >= capacity.ranks()) ASSERT_GE(of_rank, 1);
        sum += of_rank;
      }
    }
    ASSERT_EQ(rank, batches.size());
    ASSERT_EQ(sum, samples);
  }
}

}  // namespace
}  // namespace autobatch
