#include "autobatch/memory/profile_units.h"

#include <vector>

#include "autobatch/base/units.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(ProfileUnits, Yolov5_CountsBillionsOfBytes) {
  EXPECT_DOUBLE_EQ(Yolov5ProfiledMemory(908066816), 0.908066816);
}

TEST(ProfileUnits, Ultralytics_AddsStepAndPredictionsOfAllRepetitions) {
  const std::vector<UltralyticsReading> one = {{908066816, 767557632}};
  EXPECT_DOUBLE_EQ(UltralyticsProfiledMemory(one), 1.675624448);
  const std::vector<UltralyticsReading> two = {{1000000000, std::nullopt},
                                               {500000000, std::nullopt}};
  EXPECT_DOUBLE_EQ(UltralyticsProfiledMemory(two), 1.5);
}

TEST(ProfileUnits, Ultralytics84_CountsGibAndAssumesTheLoss) {
  EXPECT_DOUBLE_EQ(Ultralytics84ProfiledMemory(3 * kGiB, {.batch = 64, .anchors = 8400}), 3);
  const LossShape loss = {.batch = 2, .anchors = 8400, .max_num_obj = 10, .classes = 80};
  EXPECT_DOUBLE_EQ(Ultralytics84ProfiledMemory(kGiB, loss),
                   1 + 2.0 * 8400 * 6 * (10 + 160) * 4 / kGiB);
}

TEST(ProfileUnits, Anchors_AreTheCellsOfAllStrides) {
  const std::vector<double> strides = {8, 16, 32};
  EXPECT_EQ(Anchors(640, strides), 8400);
  EXPECT_EQ(Anchors(100, strides), 205);  // 156.25 + 39.0625 + 9.765625
}

}  // namespace
}  // namespace autobatch
