#include "autobatch/worker/models/torch_script.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Writes a module of one 8 x 3 parameter with that forward method; returns the path.
std::string SaveModule(const std::string& code, bool requires_grad = true) {
  torch::jit::Module module("Net");
  at::Tensor weight = at::randn({8, 3});
  weight.set_requires_grad(requires_grad);
  module.register_parameter("weight", weight, /*is_buffer=*/false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(code);
  const std::string path = ::testing::TempDir() +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pt";
  module.save(path);
  return path;
}

constexpr char kLinear[] = "def forward(self, x):\n  return torch.matmul(x, self.weight)\n";

WorkloadSpec Spec(const std::string& path) {
  WorkloadSpec spec;
  spec.kind = WorkloadKind::kTorchScript;
  spec.name = path;
  spec.inputs = {TensorSpec{.shape = {8}}};
  spec.target = TensorSpec{.dtype = "int64", .high = 3};
  return spec;
}

std::string ErrorOf(const WorkloadSpec& spec) {
  return std::string(LoadTorchScript(spec).status().message());
}

// One step's loss, after a backward pass that must reach the parameter.
double Step(const WorkloadSpec& spec) {
  const auto workload = LoadTorchScript(spec).value();
  const Batch batch = workload->MakeBatch(4, at::kCPU);
  const at::Tensor loss = workload->Loss(workload->Forward(batch), batch);
  EXPECT_EQ(loss.dim(), 0);
  loss.backward();
  EXPECT_TRUE(workload->Parameters().at(0).grad().defined());
  return loss.item<double>();
}

TEST(TorchScriptTest, EveryLoss_TrainsTheModule) {
  WorkloadSpec spec = Spec(SaveModule(kLinear));
  EXPECT_TRUE(std::isfinite(Step(spec)));
  spec.target = TensorSpec{.shape = {3}};  // Probabilities.
  EXPECT_TRUE(std::isfinite(Step(spec)));
  spec.loss = "mse";
  EXPECT_GE(Step(spec), 0);
  spec.loss = "bce_with_logits";
  EXPECT_GE(Step(spec), 0);  // Not below: targets are within [0, 1).
  spec.target.reset();
  spec.loss = "mean";
  EXPECT_TRUE(std::isfinite(Step(spec)));
}

TEST(TorchScriptTest, LossFromTheModule_IsTaken) {
  WorkloadSpec spec = Spec(
      SaveModule("def forward(self, x):\n  return torch.matmul(x, self.weight).pow(2).sum()\n"));
  spec.loss = "output";
  spec.target.reset();
  EXPECT_GT(Step(spec), 0);
  spec.name = SaveModule(kLinear);
  const auto workload = LoadTorchScript(spec).value();
  const Batch batch = workload->MakeBatch(4, at::kCPU);
  EXPECT_THROW(workload->Loss(workload->Forward(batch), batch), std::runtime_error);
}

TEST(TorchScriptTest, LogitsOfASequence_MayHaveClassesLast) {
  WorkloadSpec spec = Spec(SaveModule(kLinear));
  spec.inputs = {TensorSpec{.shape = {5, 8}}};
  spec.target = TensorSpec{.dtype = "int64", .shape = {5}, .high = 3};
  EXPECT_TRUE(std::isfinite(Step(spec)));
}

TEST(TorchScriptTest, FirstTensorOfWhatIsReturned_IsTheOutput) {
  for (const char* value : {"(y, x)", "[y, x]", "{\"logits\": y, \"other\": x}", "(1, (y, x))"}) {
    const std::string path = SaveModule(
        std::string("def forward(self, x):\n  y = torch.matmul(x, self.weight)\n  return ") +
        value + "\n");
    EXPECT_TRUE(std::isfinite(Step(Spec(path)))) << value;
  }
}

TEST(TorchScriptTest, NoTensorReturned_ThrowsInWords) {
  const auto workload =
      LoadTorchScript(Spec(SaveModule("def forward(self, x):\n  return 5\n"))).value();
  try {
    workload->Forward(workload->MakeBatch(1, at::kCPU));
    FAIL() << "no exception";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("returned no tensor"));
  }
}

TEST(TorchScriptTest, TargetOfAnotherShape_IsNotBroadcast) {
  WorkloadSpec spec = Spec(SaveModule(kLinear));
  spec.loss = "mse";
  spec.target = TensorSpec{};
  const auto workload = LoadTorchScript(spec).value();
  const Batch batch = workload->MakeBatch(4, at::kCPU);
  try {
    workload->Loss(workload->Forward(batch), batch);
    FAIL() << "no exception";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("(4, 3)"), HasSubstr("(4)")));
  }
}

TEST(TorchScriptTest, DeclaredInputs_HaveTheirTypesAndRanges) {
  WorkloadSpec spec =
      Spec(SaveModule("def forward(self, a, b, c, d):\n  return torch.matmul(a, self.weight)\n"));
  spec.inputs = {TensorSpec{.shape = {8}},
                 TensorSpec{.dtype = "int64", .shape = {50}, .low = -2, .high = 3},
                 TensorSpec{.dtype = "bool", .shape = {50}}, TensorSpec{.dtype = "bfloat16"}};
  spec.target = TensorSpec{.shape = {50}};
  at::manual_seed(3);
  const Batch batch = LoadTorchScript(spec).value()->MakeBatch(4, at::kCPU);
  ASSERT_EQ(batch.inputs.size(), 4);
  EXPECT_EQ(batch.inputs[1].sizes(), (std::vector<int64_t>{4, 50}));
  EXPECT_EQ(batch.inputs[1].min().item<int64_t>(), -2);
  EXPECT_EQ(batch.inputs[1].max().item<int64_t>(), 2);
  EXPECT_EQ(batch.inputs[2].scalar_type(), at::kBool);
  EXPECT_TRUE(batch.inputs[2].any().item<bool>());
  EXPECT_EQ(batch.inputs[3].scalar_type(), at::kBFloat16);
  EXPECT_GE(batch.targets[0].min().item<double>(), 0);
  EXPECT_LT(batch.targets[0].max().item<double>(), 1);
  EXPECT_EQ(batch.inputs[3].sizes(), (std::vector<int64_t>{4}));
}

TEST(TorchScriptTest, Modes_ReachTheModule) {
  const std::string path = SaveModule(
      "def forward(self, x):\n"
      "  y = torch.matmul(x, self.weight)\n"
      "  if self.training:\n"
      "    return y\n"
      "  return y * 0\n");
  const auto workload = LoadTorchScript(Spec(path)).value();
  const Batch batch = workload->MakeBatch(4, at::kCPU);
  EXPECT_NE(workload->Forward(batch)[0].abs().sum().item<double>(), 0);
  workload->Train(false);
  EXPECT_EQ(workload->Forward(batch)[0].abs().sum().item<double>(), 0);
}

TEST(LoadTorchScriptTest, MissingFile_IsNotFound) {
  const auto workload = LoadTorchScript(Spec("/nonexistent/net.pt"));
  EXPECT_EQ(workload.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(workload.status().message()), HasSubstr("'/nonexistent/net.pt'"));
}

TEST(LoadTorchScriptTest, Directory_IsNamedAsSuch) {
  EXPECT_THAT(ErrorOf(Spec(::testing::TempDir())), HasSubstr("is a directory"));
}

TEST(LoadTorchScriptTest, OtherFile_IsNotAnArchive) {
  const std::string path = ::testing::TempDir() + "weights.txt";
  std::ofstream(path) << "import torch\n";
  EXPECT_THAT(ErrorOf(Spec(path)), HasSubstr("is not a TorchScript archive: save"));
  std::ofstream(path, std::ios::trunc) << "";
  EXPECT_THAT(ErrorOf(Spec(path)), HasSubstr("is not a TorchScript archive: save"));
}

TEST(LoadTorchScriptTest, TruncatedArchive_SaysWhatTorchSaysInOneLine) {
  const std::string path = SaveModule(kLinear);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const std::string error = ErrorOf(Spec(path));
  EXPECT_THAT(error, AllOf(HasSubstr("does not load: "), HasSubstr("PytorchStreamReader"),
                           Not(HasSubstr("\n"))));
}

TEST(LoadTorchScriptTest, ArchiveOfTorchSave_IsNamedAsSuch) {
  const std::string path = ::testing::TempDir() + "state.pt";
  caffe2::serialize::PyTorchStreamWriter(path).writeEndOfFile();
  EXPECT_THAT(ErrorOf(Spec(path)), AllOf(HasSubstr("torch.save"), HasSubstr("torch.jit.save"),
                                         Not(HasSubstr("corrupted"))));
}

TEST(LoadTorchScriptTest, ModuleArgument_MayHaveAnyName) {
  EXPECT_TRUE(
      LoadTorchScript(Spec(SaveModule("def forward(s, x):\n  return torch.matmul(x, s.weight)\n")))
          .ok());
}

TEST(LoadTorchScriptTest, NothingToTrain_IsRefused) {
  EXPECT_THAT(ErrorOf(Spec(SaveModule(kLinear, /*requires_grad=*/false))),
              HasSubstr("nothing to train"));
}

TEST(LoadTorchScriptTest, OtherNumberOfInputs_NamesThem) {
  const std::string path = SaveModule(
      "def forward(self, image, mask, scale: float = 1.0):\n"
      "  return torch.matmul(image, self.weight)\n");
  EXPECT_THAT(ErrorOf(Spec(path)),
              HasSubstr("forward takes 3 inputs (image, mask, scale), 1 declared"));
}

}  // namespace
}  // namespace autobatch
