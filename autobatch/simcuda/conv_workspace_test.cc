#include "autobatch/simcuda/conv_workspace.h"

#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

// 3x3, 64 to 128 channels on 8 images of 56x56.
Convolution Conv(ConvPass pass, ConvType type) {
  return {.pass = pass,
          .type = type,
          .x = {8, 64, 56, 56},
          .w = {128, 64, 3, 3},
          .y = {8, 128, 56, 56}};
}

constexpr uint64_t kElements = 8 * 64 * 56 * 56 + 128 * 64 * 9 + 8 * 128 * 56 * 56;

TEST(ConvWorkspaceTest, Float32_OfOneGroup_TakesACopyInTheGradientsOnly) {
  const ConvWorkspaceModel model;
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kForward, ConvType::kFloat32)), 0);
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kBackwardData, ConvType::kFloat32)), 4 * kElements);
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kBackwardFilter, ConvType::kFloat32)), 4 * kElements);
}

TEST(ConvWorkspaceTest, Half_OnTensorCores_ConvertsTheLayoutInEveryPass) {
  const ConvWorkspaceModel model;
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kForward, ConvType::kHalf)), 2 * kElements);
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kBackwardData, ConvType::kHalf)), 2 * kElements);
  Convolution old = Conv(ConvPass::kForward, ConvType::kHalf);
  old.compute_capability = 61;
  EXPECT_EQ(model.Workspace(old), 0);
}

TEST(ConvWorkspaceTest, Groups_OnTensorCores_AreConvertedToo) {
  const ConvWorkspaceModel model;
  Convolution grouped = Conv(ConvPass::kForward, ConvType::kHalf);
  grouped.w = {128, 16, 3, 3};
  constexpr uint64_t kFewerWeights = uint64_t{128} * 48 * 9;
  EXPECT_EQ(model.Workspace(grouped), 2 * (kElements - kFewerWeights));
  grouped.type = ConvType::kFloat32;
  grouped.pass = ConvPass::kBackwardData;
  EXPECT_EQ(model.Workspace(grouped), 0);
}

TEST(ConvWorkspaceTest, Convolutions_WithoutACause_TakeNone) {
  const ConvWorkspaceModel model;
  Convolution channels_last = Conv(ConvPass::kBackwardData, ConvType::kHalf);
  channels_last.channels_last = true;
  EXPECT_EQ(model.Workspace(channels_last), 0);
  Convolution pointwise = Conv(ConvPass::kBackwardData, ConvType::kFloat32);
  pointwise.w = {128, 64, 1, 1};
  EXPECT_EQ(model.Workspace(pointwise), 0);
  Convolution depthwise = Conv(ConvPass::kBackwardData, ConvType::kFloat32);
  depthwise.w = {64, 1, 3, 3};
  EXPECT_EQ(model.Workspace(depthwise), 0);
  depthwise.type = ConvType::kHalf;
  EXPECT_EQ(model.Workspace(depthwise), 0);
  EXPECT_EQ(model.Workspace(Conv(ConvPass::kBackwardData, ConvType::kFloat64)), 0);
  EXPECT_EQ(model.Workspace(Convolution{}), 0);
}

}  // namespace
}  // namespace autobatch::simcuda
