#include "autobatch/memory/seed.h"

#include <optional>
#include <vector>

#include "autobatch/base/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;

TEST(Seed, DeviceType_IsWhatStandsBeforeTheIndex) {
  EXPECT_EQ(DeviceType("cuda:1"), "cuda");
  EXPECT_EQ(DeviceType("cpu"), "cpu");
}

TEST(Seed, BatchSizes_GrowAt16Gib) {
  EXPECT_THAT(UltralyticsBatchSizes(15.99), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(UltralyticsBatchSizes(16), ElementsAre(1, 2, 4, 8, 16, 32, 64));
}

TEST(Seed, BatchArgument_IsAFractionOnlyBetweenZeroAndOne) {
  EXPECT_EQ(FractionOfBatchArgument(0.9), 0.9);
  for (const double batch : {-1.0, 0.0, 1.0, 16.0, -0.5}) {
    EXPECT_EQ(FractionOfBatchArgument(batch), 0.6) << batch;
  }
}

TEST(Seed, UsablePoints_RunAreWithinTheDeviceAndGrow) {
  const UsablePoints points =
      SelectUsable({1, 2, 4, 8, 16, 32, 64}, {2.0, 2.0, 3.0, std::nullopt, 2.5, 0.0, 24.0}, 24);
  // 2 repeats; 16 follows a failure, so nothing says that it does not grow; 32 is 0; 64 is the
  // total.
  EXPECT_THAT(points.batch, ElementsAre(1, 4, 16));
  EXPECT_THAT(points.memory, ElementsAre(2.0, 3.0, 2.5));
}

TEST(Seed, BatchAtTheFirstFailure_GivesWayToTheSizeBefore) {
  const std::vector<std::optional<double>> memory = {1.0, 2.0, std::nullopt, 3.0, std::nullopt};
  const std::vector<int64_t> sizes = {1, 2, 4, 8, 16};
  EXPECT_EQ(BelowFirstFailure(3, sizes, memory), 3);
  EXPECT_EQ(BelowFirstFailure(4, sizes, memory), 2);
  EXPECT_EQ(BelowFirstFailure(100, sizes, memory), 2);
  EXPECT_EQ(BelowFirstFailure(100, {1}, {std::nullopt}), 1) << "there is none before";
  EXPECT_EQ(BelowFirstFailure(100, {1}, {1.0}), 100);
}

TEST(Seed, ProfileOfOtherSizes_IsAnError) {
  ProfileRequest request{.batch_sizes = {1, 2}};
  Profile profile;
  profile.memory = {1.0};
  EXPECT_EQ(CheckProfile(request, profile).code(), absl::StatusCode::kInvalidArgument);
  profile.memory = {1.0, std::nullopt};
  EXPECT_TRUE(CheckProfile(request, profile).ok());
  profile.status = absl::UnknownError("lost");
  EXPECT_EQ(CheckProfile(request, profile).message(), "lost");
}

TEST(Seed, Lines_ReadAsThePackagesWriteThem) {
  const SeedReadings readings = {.name = "A100",
                                 .total_bytes = 40 * kGiB,
                                 .reserved_bytes = kGiB,
                                 .allocated_bytes = kGiB / 2};
  EXPECT_EQ(MemoryLine("CUDA:0", readings),
            "CUDA:0 (A100) 40.00G total, 1.00G reserved, 0.50G allocated, 38.50G free");
  EXPECT_EQ(UsingLine(7, "CUDA:0", 40, 0.5),
            "Using batch-size 7 for CUDA:0 20.00G/40.00G (50%) ✅");
}

}  // namespace
}  // namespace autobatch
