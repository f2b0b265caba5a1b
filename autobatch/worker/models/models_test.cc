#include <gmock/gmock.h>
#include <torch/torch.h>

#include "autobatch/types/builtin_workloads.h"
#include "autobatch/worker/models/make_workload.h"

namespace autobatch {
namespace {

int64_t CountParameters(Workload& workload) {
  int64_t count = 0;
  for (const at::Tensor& parameter : workload.Parameters()) count += parameter.numel();
  return count;
}

std::unique_ptr<Workload> Make(const WorkloadSpec& spec) {
  auto workload = MakeWorkload(spec);
  EXPECT_TRUE(workload.ok()) << workload.status();
  return *std::move(workload);
}

// A spec small enough that a step takes a moment.
WorkloadSpec Small(const std::string& name) {
  WorkloadSpec spec = *BuiltinWorkloadSpec(name);
  spec.image_size = 64;
  spec.sequence_length = 16;
  spec.classes = 10;
  spec.max_objects = 5;
  return spec;
}

class BuiltinModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltinModelTest, AtItsDefaults_HasThePublishedParameters) {
  const auto workload = Make(*BuiltinWorkloadSpec(GetParam()));
  EXPECT_EQ(CountParameters(*workload), FindBuiltinWorkload(GetParam())->parameters);
}

TEST_P(BuiltinModelTest, Step_GivesFiniteLossAndEveryGradient) {
  torch::manual_seed(1);
  const auto workload = Make(Small(GetParam()));
  const Batch batch = workload->MakeBatch(2, at::kCPU);
  EXPECT_EQ(batch.inputs[0].size(0), 2);
  const auto outputs = workload->Forward(batch);
  EXPECT_EQ(outputs[0].size(0), 2);
  const at::Tensor loss = workload->Loss(outputs, batch);
  EXPECT_EQ(loss.dim(), 0);
  loss.backward();
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  for (const at::Tensor& parameter : workload->Parameters()) {
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltinModelTest,
                         ::testing::Values("resnet18", "resnet50", "vit_b_16", "gpt2"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace autobatch
