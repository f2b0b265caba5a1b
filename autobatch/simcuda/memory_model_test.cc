#include "autobatch/simcuda/memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autobatch/simcuda/catalogue.h"

namespace autobatch::simcuda {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryModelTest, Context_WithReadingsThatArePublic_IsTheirs) {
  const MemoryModel model;
  EXPECT_EQ(model.Context(*FindCard("rtx6000-ada"), 13000), 446693376);
}

TEST(MemoryModelTest, Context_WithoutAReading_LiesOnTheLineOfTheOthers) {
  // Each of the three public readings, predicted as if its card had none: within 6 %.
  const MemoryModel model;
  for (const char* id : {"rtx4060ti-16", "rtx6000-ada", "pro6000-blackwell"}) {
    Card card = *FindCard(id);
    const auto read = static_cast<double>(*card.context);
    card.context.reset();
    EXPECT_NEAR(static_cast<double>(model.Context(card, 13000)) / read, 1, 0.06) << id;
  }
}

TEST(MemoryModelTest, OldDriver_WithEagerLoading_TakesAllKernelsWithTheContext) {
  const MemoryModel model;
  const Card& card = *FindCard("rtx3090");
  // Read at 1687 MiB, 2 of them a tensor's segment.
  EXPECT_NEAR(static_cast<double>(model.Context(card, 11030)) / kMiB, 1685, 1);
  EXPECT_EQ(model.Kernel(11030), 0);
  EXPECT_LT(model.Context(card, 12040), 400 * kMiB);
  EXPECT_GT(model.Kernel(12040), 0);
}

TEST(MemoryModelTest, Communicator_WithMoreRanks_TakesMore) {
  const MemoryModel model;
  EXPECT_GT(model.Communicator(8), model.Communicator(2));
  EXPECT_GT(model.Communicator(2), model.Communicator(1));
}

TEST(MemoryModelTest, Calibration_OfSomeParts_KeepsTheOthers) {
  const CalibratedModel calibrated = Calibrate(
      "# H200, driver 580\ncontext_base = 1048576\n\nconvolution.half_forward = 0.5 # measured\n");
  ASSERT_EQ(calibrated.error, "");
  EXPECT_EQ(calibrated.model.context_base, 1048576);
  EXPECT_EQ(calibrated.model.convolution.half_forward, 0.5);
  EXPECT_EQ(calibrated.model.convolution.half_backward_data, 1);
}

TEST(MemoryModelTest, Calibration_WithAMistake_NamesIt) {
  EXPECT_THAT(Calibrate("context_bsae = 1").error, HasSubstr("the nearest is 'context_base'"));
  EXPECT_THAT(Calibrate("context_base").error, HasSubstr("part = number"));
  EXPECT_THAT(Calibrate("context_base = -1").error, HasSubstr("no value"));
  EXPECT_THAT(Calibrate("context_base = 1 MiB").error, HasSubstr("no value"));
}

}  // namespace
}  // namespace autobatch::simcuda
