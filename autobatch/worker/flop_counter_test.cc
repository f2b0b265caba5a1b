#include "autobatch/worker/flop_counter.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_convolution.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include "autobatch/worker/autocast_scope.h"

namespace autobatch {
namespace {

TEST(FlopCounterTest, Convolution_WithStrideAndPadding_CountsItsOutput) {
  const at::Tensor input = at::randn({2, 3, 224, 224});
  const at::Tensor weight = at::randn({64, 3, 7, 7});
  const FlopCounter counter;
  at::conv2d(input, weight, {}, 2, 3);
  EXPECT_EQ(counter.flops(), 2.0 * 2 * 112 * 112 * 64 * 3 * 49);
}

TEST(FlopCounterTest, Convolution_InGroups_CountsOnlyTheGroupsChannels) {
  const at::Tensor input = at::randn({1, 8, 10, 10});
  const at::Tensor weight = at::randn({8, 1, 3, 3});
  const FlopCounter counter;
  at::conv2d(input, weight, {}, 1, 1, 1, 8);
  EXPECT_EQ(counter.flops(), 2.0 * 100 * 8 * 9);
}

TEST(FlopCounterTest, Convolution_Transposed_CountsItsInput) {
  const at::Tensor input = at::randn({1, 4, 5, 5});
  const at::Tensor weight = at::randn({4, 6, 2, 2});
  const FlopCounter counter;
  at::conv_transpose2d(input, weight, {}, 2);
  EXPECT_EQ(counter.flops(), 2.0 * 25 * 4 * 6 * 4);
}

TEST(FlopCounterTest, Linear_WithAndWithoutBias_CountsTheProductOnce) {
  const at::Tensor weight = at::randn({7, 5});
  const at::Tensor bias = at::randn({7});
  for (const at::Tensor& input : {at::randn({3, 5}), at::randn({1, 3, 5})}) {
    const FlopCounter counter;
    at::linear(input, weight, bias);
    at::linear(input, weight);
    EXPECT_EQ(counter.flops(), 2 * (2.0 * 3 * 5 * 7)) << input.sizes();
  }
}

TEST(FlopCounterTest, Products_UnderAutocast_AreNotCountedTwice) {
  const at::Tensor input = at::randn({4, 3, 8, 8});
  const at::Tensor weight = at::randn({2, 3, 3, 3});
  const AutocastScope autocast(c10::DeviceType::CPU, Precision::kAmpBf16);
  const FlopCounter counter;
  at::matmul(at::randn({6, 3, 5}), at::randn({6, 5, 2}));
  EXPECT_EQ(counter.flops(), 2.0 * 6 * 3 * 5 * 2);
  at::conv2d(input, weight);
  EXPECT_EQ(counter.flops(), 2.0 * 6 * 3 * 5 * 2 + 2.0 * 4 * 36 * 2 * 27);
}

// Autocast catches the call, casts, and calls the same operator again.
TEST(FlopCounterTest, Product_ThatAutocastCallsAgain_IsCountedOnce) {
  const at::Tensor a = at::randn({6, 3});
  const at::Tensor b = at::randn({3, 5});
  const AutocastScope autocast(c10::DeviceType::CPU, Precision::kAmpBf16);
  const FlopCounter counter;
  at::mm(a, b);
  EXPECT_EQ(counter.flops(), 2.0 * 6 * 3 * 5);
}

// Traced TorchScript models call it by this name.
TEST(FlopCounterTest, Convolution_ByItsInnerName_IsCounted) {
  const at::Tensor input = at::randn({1, 3, 8, 8});
  const at::Tensor weight = at::randn({2, 3, 3, 3});
  const FlopCounter counter;
  at::_convolution(input, weight, {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1, false, false, true,
                   true);
  EXPECT_EQ(counter.flops(), 2.0 * 36 * 2 * 27);
}

TEST(FlopCounterTest, Attention_Fused_CountsBothProducts) {
  const at::Tensor query = at::randn({2, 4, 16, 8});
  const at::Tensor key = at::randn({2, 4, 16, 8});
  const FlopCounter counter;
  at::scaled_dot_product_attention(query, key, key, {}, 0, true);
  EXPECT_EQ(counter.flops(), 2 * (2.0 * 2 * 4 * 16 * 16 * 8));
}

TEST(FlopCounterTest, ElementwiseWork_AndWhatRanBefore_CountNothing) {
  const at::Tensor a = at::randn({8, 8});
  at::matmul(a, a);
  const FlopCounter counter;
  at::relu(a);
  EXPECT_EQ(counter.flops(), 0);
}

}  // namespace
}  // namespace autobatch
