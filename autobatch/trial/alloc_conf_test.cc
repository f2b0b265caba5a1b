#include "autobatch/trial/alloc_conf.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(AllocConfTest, NoSettings_GetTheFractionAlone) {
  const auto merged = MergeAllocConf("", 0.25);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->text, "per_process_memory_fraction:0.250000");
  EXPECT_EQ(merged->warning, "");
}

TEST(AllocConfTest, OwnSettings_AreKept) {
  const auto merged = MergeAllocConf(
      " expandable_segments:True, roundup_power2_divisions:[256:1,512:2,>:4],,max_split_size_mb:64",
      0.5);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->text,
            "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:4],"
            "max_split_size_mb:64,per_process_memory_fraction:0.500000");
}

TEST(AllocConfTest, OwnFraction_StaysWhereItIsLower) {
  const auto lower = MergeAllocConf("per_process_memory_fraction:0.4", 0.5);
  ASSERT_TRUE(lower.ok());
  EXPECT_EQ(lower->text, "per_process_memory_fraction:0.400000");
  EXPECT_EQ(lower->warning, "");
  const auto higher = MergeAllocConf("per_process_memory_fraction:0.9", 0.5);
  ASSERT_TRUE(higher.ok());
  EXPECT_EQ(higher->text, "per_process_memory_fraction:0.500000");
  EXPECT_THAT(higher->warning, HasSubstr("per_process_memory_fraction:0.9"));
}

TEST(AllocConfTest, DriversAllocator_IsRefused) {
  const auto merged = MergeAllocConf("garbage_collection_threshold:0.8,backend:cudaMallocAsync", 1);
  EXPECT_EQ(merged.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(MergeAllocConf("backend:native", 1).ok());
}

TEST(AllocConfTest, OlderPyTorch_IsToldByItsWords) {
  EXPECT_TRUE(RefusesMemoryFraction(
      "RuntimeError: Unrecognized CachingAllocator option: per_process_memory_fraction"));
  EXPECT_TRUE(RefusesMemoryFraction(
      "Unrecognized key 'per_process_memory_fraction' in CUDA allocator config."));
  EXPECT_FALSE(RefusesMemoryFraction("CUDA out of memory"));
}

}  // namespace
}  // namespace autobatch
