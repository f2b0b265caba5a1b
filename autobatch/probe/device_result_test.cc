#include "autobatch/probe/device_result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The warnings after watched trials of these batches and peaks.
std::vector<std::string> Doubts(const std::vector<std::pair<int64_t, int64_t>>& trials) {
  DeviceResult result;
  for (const auto& [batch, peak] : trials) {
    Observation seen;
    seen.method = "observer";
    seen.trial.batch = batch;
    seen.steady = MemoryPeak{.reserved_bytes = peak};
    result.observations.push_back(std::move(seen));
  }
  DoubtUnusedBatch(result);
  return result.warnings;
}

TEST(DeviceResultTest, CommandThatTakesItsBatch_IsNotDoubted) {
  EXPECT_THAT(Doubts({}), IsEmpty());
  EXPECT_THAT(Doubts({{1, 1000}, {4, 1000}, {64, 1600}}), IsEmpty())
      << "the first few samples do not show";
}

TEST(DeviceResultTest, FixedBatch_IsDoubted) {
  EXPECT_THAT(Doubts({{1, 1000}, {4, 1010}, {64, 1000}}),
              ElementsAre(HasSubstr("a batch of 64 held no more memory than one of 1: ")));
}

TEST(DeviceResultTest, BatchThatOutgrewTheDataSet_IsDoubted) {
  EXPECT_THAT(Doubts({{1, 1000}, {256, 2000}, {4096, 9000}, {10713, 9000}, {65536, 9010}}),
              ElementsAre(HasSubstr("a batch of 65536 held no more memory than one of 4096: ")));
}

TEST(DeviceResultTest, PlateauNearTheAnswer_IsNotDoubted) {
  EXPECT_THAT(Doubts({{1, 1000}, {256, 2000}, {4096, 9000}, {10713, 9000}}), IsEmpty())
      << "near the limit the allocator gives its cache back";
}

}  // namespace
}  // namespace autobatch
