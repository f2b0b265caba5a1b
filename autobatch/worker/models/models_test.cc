// The built-in models, through the factory that makes them.

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "autobatch/types/builtin_workloads.h"
#include "autobatch/worker/budgeted_cpu_allocator.h"
#include "autobatch/worker/models/detection_loss.h"
#include "autobatch/worker/models/make_workload.h"

namespace autobatch {
namespace {

std::unique_ptr<Workload> Make(const WorkloadSpec& spec) { return MakeWorkload(spec).value(); }

// Sizes so small that a step takes a moment.
WorkloadSpec Small(const std::string& name) {
  WorkloadSpec spec = *BuiltinWorkloadSpec(name);
  spec.image_size = 64;
  spec.sequence_length = 16;
  spec.classes = 10;
  spec.max_objects = 5;
  return spec;
}

at::Tensor LossOf(Workload& workload, const Batch& batch) {
  return workload.Loss(workload.Forward(batch), batch);
}

// Threads that wait for each other on a busy machine take minutes for what one does in seconds.
class OneThread : public ::testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};
const auto* const kOneThread = ::testing::AddGlobalTestEnvironment(new OneThread);

class BuiltinModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltinModelTest, AtItsDefaults_HasThePublishedParameters) {
  int64_t count = 0;
  for (const at::Tensor& parameter : Make(*BuiltinWorkloadSpec(GetParam()))->Parameters()) {
    EXPECT_TRUE(parameter.requires_grad() && parameter.is_leaf());
    count += parameter.numel();
  }
  EXPECT_EQ(count, FindBuiltinWorkload(GetParam())->parameters);
}

TEST_P(BuiltinModelTest, Step_GivesAFiniteLossAndEveryGradient) {
  at::manual_seed(1);
  const auto workload = Make(Small(GetParam()));
  const Batch batch = workload->MakeBatch(2, at::kCPU);
  EXPECT_EQ(batch.inputs[0].size(0), 2);
  const auto outputs = workload->Forward(batch);
  EXPECT_EQ(outputs[0].size(0), 2);
  const at::Tensor loss = workload->Loss(outputs, batch);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  loss.backward();
  for (const at::Tensor& parameter : workload->Parameters()) {
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

TEST_P(BuiltinModelTest, SameSeed_GivesTheSameLossAgain) {
  std::vector<double> losses;
  for (const int seed : {7, 7, 8}) {
    at::manual_seed(seed);
    const auto workload = Make(Small(GetParam()));
    losses.push_back(LossOf(*workload, workload->MakeBatch(2, at::kCPU)).item<double>());
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[0], losses[2]);
}

TEST_P(BuiltinModelTest, ChannelsLast_HoldsForParametersAndImages) {
  const auto workload = Make(Small(GetParam()));
  workload->To(at::kCPU, /*channels_last=*/true);
  const Batch batch = workload->MakeBatch(2, at::kCPU);
  std::vector<at::Tensor> tensors = workload->Parameters();
  tensors.push_back(batch.inputs[0]);
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() == 4) {
      EXPECT_TRUE(tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  LossOf(*workload, batch).backward();
}

TEST_P(BuiltinModelTest, UnderAutocast_StepIsFinite) {
  at::manual_seed(2);
  const auto workload = Make(Small(GetParam()));
  const Batch batch = workload->MakeBatch(2, at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const auto outputs = workload->Forward(batch);
  const at::Tensor loss = workload->Loss(outputs, batch);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  EXPECT_EQ(outputs[0].scalar_type(), at::kBFloat16);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  loss.backward();
  for (const at::Tensor& parameter : workload->Parameters()) {
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

TEST_P(BuiltinModelTest, Evaluation_OfOneSample_IsRepeatable) {
  const auto workload = Make(Small(GetParam()));
  workload->Train(false);
  const at::NoGradGuard no_grad;
  const Batch batch = workload->MakeBatch(1, at::kCPU);
  const double loss = LossOf(*workload, batch).item<double>();
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_EQ(LossOf(*workload, batch).item<double>(), loss);
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltinModelTest, ::testing::ValuesIn(BuiltinWorkloadNames()),
                         [](const auto& info) { return info.param; });

TEST(BuiltinModelSizesTest, Options_SetTheShapes) {
  WorkloadSpec spec = Small("resnet18");
  auto workload = Make(spec);
  Batch batch = workload->MakeBatch(3, at::kCPU);
  EXPECT_EQ(batch.inputs[0].sizes(), (std::vector<int64_t>{3, 3, 64, 64}));
  EXPECT_EQ(workload->Forward(batch)[0].sizes(), (std::vector<int64_t>{3, 10}));

  workload = Make(Small("gpt2"));
  batch = workload->MakeBatch(2, at::kCPU);
  EXPECT_EQ(batch.inputs[0].sizes(), (std::vector<int64_t>{2, 16}));
  EXPECT_EQ(workload->Forward(batch)[0].sizes(), (std::vector<int64_t>{2, 16, 50257}));

  workload = Make(Small("yolo"));
  batch = workload->MakeBatch(2, at::kCPU);
  EXPECT_EQ(batch.targets[0].sizes(), (std::vector<int64_t>{2, 5, 4}));
  EXPECT_EQ(workload->Forward(batch)[2].sizes(), (std::vector<int64_t>{2, 64 + 10, 2, 2}));
}

TEST(MakeWorkloadTest, WhatCannotRun_IsRefused) {
  WorkloadSpec spec = Small("gpt2");
  spec.sequence_length = 1025;
  EXPECT_THAT(std::string(MakeWorkload(spec).status().message()),
              ::testing::HasSubstr("gpt2 takes 2 to 1,024"));
  spec.kind = WorkloadKind::kCommand;
  spec.command = {"true"};
  EXPECT_THAT(std::string(MakeWorkload(spec).status().message()),
              ::testing::HasSubstr("a command is a program of its own"));
}

// Bytes that the loss takes on top of what is held before it.
int64_t LossPeak(int64_t max_objects) {
  BudgetedCpuAllocator& allocator = BudgetedCpuAllocator::Install();
  WorkloadSpec spec = Small("yolo");
  spec.image_size = 160;
  spec.max_objects = max_objects;
  const auto workload = Make(spec);
  const Batch batch = workload->MakeBatch(2, at::kCPU);
  const auto outputs = workload->Forward(batch);
  const int64_t before = allocator.current_bytes();
  allocator.ResetPeaks();
  workload->Loss(outputs, batch);
  return allocator.peak_bytes() - before;
}

TEST(YoloTest, MoreObjects_TakeMoreMemoryInProportion) {
  const int64_t anchors = 20 * 20 + 10 * 10 + 5 * 5;
  const int64_t few = LossPeak(200);
  const int64_t more = LossPeak(400);
  const int64_t most = LossPeak(800);
  // Tables of images x objects x anchors numbers for the 200 and 400 objects more.
  EXPECT_GE(more - few, 8 * 2 * 200 * anchors * 4);
  EXPECT_NEAR(static_cast<double>(most - more) / static_cast<double>(more - few), 2.0, 0.01);
}

// One image, one class, anchors in a row that are 10 pixels apart, each predicting `boxes`.
Assignment AssignInARow(const std::vector<std::vector<float>>& boxes,
                        const std::vector<std::vector<float>>& objects) {
  const auto table = [](const std::vector<std::vector<float>>& rows) {
    at::Tensor result = at::empty({1, static_cast<int64_t>(rows.size()), 4});
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < 4; ++j) result[0][i][j] = rows[i][j];
    }
    return result;
  };
  const auto anchors = static_cast<int64_t>(boxes.size());
  const at::Tensor x = at::arange(anchors, at::kFloat) * 10 + 5;
  const at::Tensor points = at::stack({x, at::full({anchors}, 5.0)}, -1);
  const auto count = static_cast<int64_t>(objects.size());
  return AssignObjects(at::full({1, anchors, 1}, 0.5), table(boxes), points,
                       {table(objects), at::zeros({1, count}, at::kLong)});
}

TEST(AssignObjectsTest, AnchorOutsideEveryBox_LearnsNothing) {
  const Assignment assigned = AssignInARow({{0, 0, 10, 10}, {0, 0, 10, 10}}, {{0, 0, 10, 10}});
  EXPECT_TRUE(assigned.positive[0][0].item<bool>());
  EXPECT_FALSE(assigned.positive[0][1].item<bool>());
  EXPECT_NEAR(assigned.scores[0][0][0].item<double>(), 1.0, 1e-3);
  EXPECT_EQ(assigned.scores[0][1][0].item<double>(), 0.0);
}

TEST(AssignObjectsTest, AnchorOfTwoObjects_GoesToTheOneItOverlapsMost) {
  const Assignment assigned =
      AssignInARow({{0, 0, 10, 10}}, {{0, 0, 40, 40}, {0, 0, 12, 12}, {0, 0, 30, 30}});
  EXPECT_TRUE(assigned.positive[0][0].item<bool>());
  EXPECT_EQ(assigned.boxes[0][0][2].item<double>(), 12);
}

TEST(AssignObjectsTest, LargeObject_HasItsTenBestAnchors) {
  std::vector<std::vector<float>> boxes;
  for (int i = 0; i < 15; ++i) boxes.push_back({0, 0, 150.0F - static_cast<float>(i), 10});
  const Assignment assigned = AssignInARow(boxes, {{0, 0, 150, 10}});
  EXPECT_EQ(assigned.positive.sum().item<int64_t>(), 10);
  EXPECT_TRUE(assigned.positive[0][0].item<bool>());
  EXPECT_FALSE(assigned.positive[0][10].item<bool>());
  EXPECT_GT(assigned.scores[0][0][0].item<double>(), assigned.scores[0][5][0].item<double>());
}

}  // namespace
}  // namespace autobatch
