#include "autobatch/types/builtin_workloads.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The message, or "" when the workload is valid.
std::string ErrorOf(const WorkloadSpec& spec) {
  return std::string(ValidateWorkload(spec).message());
}

WorkloadSpec Model(absl::string_view name) { return *BuiltinWorkloadSpec(name); }

WorkloadSpec ScriptFile() {
  WorkloadSpec spec;
  spec.kind = WorkloadKind::kTorchScript;
  spec.name = "net.pt";
  spec.inputs = {TensorSpec{.shape = {8}}};
  spec.target = TensorSpec{.dtype = "int64", .high = 10};
  return spec;
}

TEST(BuiltinWorkloadsTest, Names_AreThoseOfTheTable) {
  EXPECT_THAT(BuiltinWorkloadNames(),
              ElementsAre("resnet18", "resnet50", "vit_b_16", "gpt2", "yolo"));
}

TEST(BuiltinWorkloadSpecTest, EveryModel_IsValidAtItsDefaults) {
  for (const std::string& name : BuiltinWorkloadNames()) EXPECT_EQ(ErrorOf(Model(name)), "");
  EXPECT_EQ(Model("yolo").image_size, 640);
  EXPECT_EQ(Model("yolo").classes, 80);
  EXPECT_FALSE(BuiltinWorkloadSpec("yolo9").ok());
}

TEST(ValidateWorkloadTest, UnknownModel_NamesTheNearest) {
  WorkloadSpec spec;
  spec.name = "resnet19";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'resnet18'"));
}

TEST(ValidateWorkloadTest, SizesOutOfRange_AreNamed) {
  WorkloadSpec spec = Model("resnet18");
  spec.image_size = 0;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("image size 0: resnet18 takes 33 to 65,536"));
  spec = Model("resnet50");
  spec.classes = -1;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("classes -1"));
  spec = Model("yolo");
  spec.max_objects = 0;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("max objects 0"));
  spec = Model("gpt2");
  spec.sequence_length = 1025;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("sequence length 1025: gpt2 takes 2 to 1,024"));
  spec.sequence_length = 1;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("sequence length 1:"));
}

TEST(ValidateWorkloadTest, ImageSizeBesideTheGrid_NamesTheNeighbours) {
  WorkloadSpec spec = Model("vit_b_16");
  spec.image_size = 230;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("vit_b_16 takes multiples of 16, such as 224 or 240"));
  spec = Model("yolo");
  spec.image_size = 70;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("such as 64 or 96"));
}

TEST(ValidateWorkloadTest, SizesThatTheModelDoesNotUse_AreIgnored) {
  WorkloadSpec spec = Model("gpt2");
  spec.image_size = -5;
  EXPECT_EQ(ErrorOf(spec), "");
}

TEST(ValidateWorkloadTest, NegativeEvaluationBatch_IsRefused) {
  WorkloadSpec spec = Model("resnet18");
  spec.evaluation_batch = -1;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("evaluation batch -1"));
  spec.evaluation_batch = 0;
  EXPECT_EQ(ErrorOf(spec), "");
}

TEST(ValidateWorkloadTest, ScriptFile_NeedsNameAndInputs) {
  EXPECT_EQ(ErrorOf(ScriptFile()), "");
  WorkloadSpec spec = ScriptFile();
  spec.name.clear();
  EXPECT_THAT(ErrorOf(spec), HasSubstr("no TorchScript file"));
  spec = ScriptFile();
  spec.inputs.clear();
  EXPECT_THAT(ErrorOf(spec), AllOf(HasSubstr("'net.pt'"), HasSubstr("float32:3x224x224")));
}

TEST(ValidateWorkloadTest, ScriptFileInput_IsNamedByItsPlace) {
  WorkloadSpec spec = ScriptFile();
  spec.inputs.push_back(TensorSpec{.dtype = "flaot32"});
  EXPECT_THAT(ErrorOf(spec), AllOf(HasSubstr("input 2"), HasSubstr("did you mean 'float32'")));
}

TEST(ValidateWorkloadTest, ScriptFileLoss_MustSuitItsTarget) {
  WorkloadSpec spec = ScriptFile();
  spec.loss = "crossentropy";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'cross_entropy'"));
  spec.loss = "mse";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("cannot use a target of int64: float32"));
  spec.target = TensorSpec{.dtype = "bool"};
  spec.loss = "cross_entropy";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("cannot use a target of bool: int64"));
  spec.target = TensorSpec{.dtype = "int64", .low = 3, .high = 3};
  EXPECT_THAT(ErrorOf(spec), HasSubstr("target: the range 3..3 is empty"));
  spec.loss = "mean";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("leave the target out"));
  spec.target.reset();
  EXPECT_EQ(ErrorOf(spec), "");
  spec.loss = "bce_with_logits";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("needs a target, such as float32:10"));
}

TEST(ValidateWorkloadTest, EmptyCommand_IsRefused) {
  WorkloadSpec spec;
  spec.kind = WorkloadKind::kCommand;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("the command is empty"));
  spec.command = {"python3", "train.py"};
  EXPECT_EQ(ErrorOf(spec), "");
}

}  // namespace
}  // namespace autobatch
