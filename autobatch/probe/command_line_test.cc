#include "autobatch/probe/command_line.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments) {
  return ParseCommandLine(arguments);
}

// An empty file of this name is in it.
std::string FolderWith(const std::string& name) {
  std::string folder = absl::StrCat(::testing::TempDir(), "/command-line-XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_TRUE(WriteFileAtomically(absl::StrCat(folder, "/", name), "").ok());
  return folder;
}

TEST(CommandLineTest, NoArguments_GiveTheDocumentedDefaults) {
  const auto line = Parse({});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->probe.workload.name, "resnet18");
  EXPECT_EQ(line->probe.workload.image_size, 224);
  EXPECT_EQ(line->probe.workload.optimizer, OptimizerKind::kMomentum);
  EXPECT_EQ(line->probe.max_batch, 65536);
  EXPECT_EQ(line->probe.strategy, Strategy::kConfirm);
  Device cpu{.kind = DeviceKind::kCpu};
  Device gpu{.kind = DeviceKind::kCuda};
  EXPECT_EQ(WorkloadFor(line->probe, cpu).precision, Precision::kFp32);
  EXPECT_EQ(WorkloadFor(line->probe, gpu).precision, Precision::kAmpFp16);
  EXPECT_EQ(TimeLimitFor(line->probe, cpu), absl::Seconds(120));
  EXPECT_EQ(TimeLimitFor(line->probe, gpu), absl::InfiniteDuration());
}

TEST(CommandLineTest, EveryOption_ReachesItsField) {
  const auto line = Parse({"--workload",
                           "gpt2",
                           "--sequence-length=512",
                           "--precision",
                           "amp-bf16",
                           "--optimizer",
                           "adamw",
                           "--zero-grad",
                           "zero",
                           "--ema",
                           "--device",
                           "cuda:0,2",
                           "--memory-limit",
                           "8GiB",
                           "--headroom",
                           "5%",
                           "--world-size",
                           "4",
                           "--max-batch",
                           "128",
                           "--power-of-two",
                           "--tolerance",
                           "0.1",
                           "--time-limit",
                           "5m",
                           "--trial-timeout",
                           "30",
                           "--eval-batch",
                           "0",
                           "--accumulation",
                           "2",
                           "--format",
                           "env",
                           "-q"});
  ASSERT_TRUE(line.ok()) << line.status();
  const ProbeSpec& probe = line->probe;
  EXPECT_EQ(probe.workload.sequence_length, 512);
  EXPECT_EQ(probe.precision, Precision::kAmpBf16);
  EXPECT_EQ(probe.workload.optimizer, OptimizerKind::kAdamw);
  EXPECT_EQ(probe.workload.zero_grad, ZeroGrad::kZero);
  EXPECT_TRUE(probe.workload.ema);
  EXPECT_EQ(probe.workload.evaluation_batch, 0);
  EXPECT_EQ(probe.devices, "cuda:0,2");
  EXPECT_EQ(probe.memory_limit_bytes, int64_t{8} << 30);
  EXPECT_DOUBLE_EQ(*probe.headroom_fraction, 0.05);
  EXPECT_EQ(probe.world_size, 4);
  EXPECT_EQ(probe.max_batch, 128);
  EXPECT_TRUE(probe.power_of_two);
  EXPECT_EQ(probe.time_limit, absl::Minutes(5));
  EXPECT_EQ(probe.trial_timeout, absl::Seconds(30));
  EXPECT_EQ(probe.accumulation, 2);
  EXPECT_EQ(line->format, OutputFormat::kEnv);
  EXPECT_TRUE(line->quiet);
}

TEST(CommandLineTest, TorchScript_IsToldByItsPathAndResolvedWhereTheUserStands) {
  const std::string folder = FolderWith("m.pt");
  setenv("BUILD_WORKING_DIRECTORY", folder.c_str(), 1);
  const auto line = Parse({"--workload", "m.pt", "--input", "float32:3x64x64", "--input",
                           "int64:8:0..10", "--target", "int64::0..80", "--json", "out.json"});
  unsetenv("BUILD_WORKING_DIRECTORY");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->probe.workload.kind, WorkloadKind::kTorchScript);
  EXPECT_EQ(line->probe.workload.name, folder + "/m.pt");
  EXPECT_EQ(line->probe.workload.inputs.size(), 2);
  EXPECT_EQ(line->probe.workload.target->high, 80);
  EXPECT_EQ(line->json_path, folder + "/out.json");
}

TEST(CommandLineTest, TorchScript_MayHaveAnyExtension) {
  const std::string name = "yolov8n.torchscript";
  const auto line = Parse({"--workload", absl::StrCat(FolderWith(name), "/", name), "--input",
                           "float32:3x64x64", "--target", "int64::0..80"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->probe.workload.kind, WorkloadKind::kTorchScript);
}

TEST(CommandLineTest, Command_IsKeptAsItIsBehindTheDashes) {
  const auto line = Parse({"--max-batch", "64", "--strategy", "confirm", "--", "python",
                           "my train.py", "--workload", "{micro_batch}", "", "--", "$HOME; *"});
  ASSERT_TRUE(line.ok()) << line.status();
  const WorkloadSpec& workload = line->probe.workload;
  EXPECT_EQ(workload.kind, WorkloadKind::kCommand);
  EXPECT_THAT(workload.command, testing::ElementsAre("python", "my train.py", "--workload",
                                                     "{micro_batch}", "", "--", "$HOME; *"));
  EXPECT_EQ(workload.evaluation_batch, 0);
  EXPECT_EQ(line->probe.max_batch, 64);
}

TEST(CommandLineTest, LaunchersRanks_AreTheWorldUnlessItIsGiven) {
  const auto line = Parse({"--scope", "node", "--", "torchrun", "--nproc-per-node=2", "t.py"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->probe.scope, TrialScope::kNode);
  EXPECT_EQ(WorldSize(line->probe, 8), 2);
  const auto given = Parse({"--world-size", "16", "--", "torchrun", "--nproc-per-node=2", "t.py"});
  EXPECT_EQ(WorldSize(given->probe, 8), 16);
  EXPECT_EQ(WorldSize(Parse({"--", "python", "t.py"})->probe, 8), 8);
}

TEST(CheckScopeTest, DevicesThatOneTrialCannotUseAtOnce_AreRefused) {
  const Device cpu{.kind = DeviceKind::kCpu};
  const Device gpu{.kind = DeviceKind::kCuda};
  const Device mig{.kind = DeviceKind::kMig};
  const ProbeSpec node{.scope = TrialScope::kNode};
  EXPECT_TRUE(CheckScope({}, std::vector<Device>{cpu}).ok());
  EXPECT_TRUE(CheckScope(node, std::vector<Device>{gpu, gpu}).ok());
  EXPECT_TRUE(CheckScope(node, std::vector<Device>{mig}).ok());
  EXPECT_THAT(std::string(CheckScope(node, std::vector<Device>{cpu}).message()), HasSubstr("CPU"));
  EXPECT_THAT(std::string(CheckScope(node, std::vector<Device>{mig, mig}).message()),
              HasSubstr("MIG"));
}

TEST(CommandLineTest, MoreSteps_AreConfirmedByAsMany) {
  const auto line = Parse({"--steps", "20"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->probe.confirm_steps, 20);
}

struct BadCase {
  std::vector<std::string> arguments;
  // What the message must name: the input, and what would be right.
  std::vector<std::string> says;
};

TEST(CommandLineTest, BadInput_NamesTheInputAndWhatIsRight) {
  const std::vector<BadCase> cases = {
      {{"--worklaod", "gpt2"}, {"--worklaod", "--workload"}},
      {{"--worklaod=gpt2"}, {"did you mean '--workload'"}},
      {{"--workload", "vit"}, {"did you mean 'vit_b_16'"}},
      {{"--precision", "bf16"}, {"did you mean 'amp_bf16'"}},
      {{"--workload", "resnet19"}, {"resnet19", "resnet18"}},
      {{"--max-batch", "0"}, {"--max-batch", "0", "1 or more"}},
      {{"--max-batch", "-4"}, {"--max-batch", "-4"}},
      {{"--max-batch", "many"}, {"--max-batch", "many"}},
      {{"--max-batch"}, {"--max-batch"}},
      {{"--max-batch", "2", "--max-batch", "3"}, {"--max-batch"}},
      {{"--max", "2"}, {"--max"}},
      {{"--precision", "fp61"}, {"fp61", "fp16"}},
      {{"--precision", "0.05"}, {"0.05", "--tolerance 0.05"}},
      {{"--optimizer", "adamv"}, {"adamv", "adam"}},
      {{"--strategy", "ultralytics-8.5"}, {"ultralytics-8.5", "ultralytics-8.4"}},
      {{"--strategy", "yolov5", "--fraction", "1.5"}, {"--fraction", "1.5", "at most 1"}},
      {{"--strategy", "yolov5", "--fraction", "0"}, {"--fraction"}},
      {{"--fraction", "0.9"}, {"--fraction", "confirm", "--headroom"}},
      {{"--confirm"}, {"--confirm"}},
      {{"--tolerance", "0"}, {"--tolerance"}},
      {{"--memory-limit", "lots"}, {"--memory-limit", "lots", "2GiB"}},
      {{"--memory-limit", "0"}, {"--memory-limit"}},
      {{"--headroom", "120%"}, {"--headroom", "120%", "below 100%"}},
      {{"--headroom", "100%"}, {"--headroom", "100%"}},
      {{"--time-limit", "soon"}, {"--time-limit", "soon", "90s"}},
      {{"--time-limit", "-3s"}, {"--time-limit"}},
      {{"--multiple-of", "8", "--power-of-two"}, {"--multiple-of", "--power-of-two"}},
      {{"--multiple-of", "8", "--max-batch", "4"}, {"--multiple-of", "--max-batch"}},
      {{"--workload", "gpt2", "--image-size", "64"}, {"--image-size", "gpt2"}},
      {{"--workload", "resnet18", "--input", "float32:3"}, {"--input", "resnet18"}},
      {{"--workload", "nofile.pt"}, {"--workload", "cannot read", "nofile.pt", "No such file"}},
      {{"--workload", "/dev/null"}, {"input"}},
      {{"--workload", "/dev/null", "--input", "float23:3"}, {"--input", "float23", "float32"}},
      {{"--image-size", "-1"}, {"-1"}},
      {{"--json", "-", "--format", "env"}, {"--json", "--format"}},
      {{"--world-size", "9223372036854775807"}, {"--world-size", "or less"}},
      {{"--max-batch", "9223372036854775807"}, {"--max-batch", "or less"}},
      {{"--json", ""}, {"--json", "empty"}},
      {{"--json", "no/such.json"}, {"--json", "cannot write no/such.json", "no folder no"}},
      {{"--html", "/dev/null/page.html"}, {"--html", "/dev/null/page.html"}},
      {{"--html", "/"}, {"--html", "Is a directory"}},
      {{"--dataset-size", "3", "--world-size", "4"}, {"--dataset-size", "--world-size", "4 ranks"}},
      {{"--dataset-size", "6", "--multiple-of", "7"}, {"--multiple-of", "--dataset-size"}},
      {{"--steps", "20", "--confirm-steps", "10"}, {"--steps", "--confirm-steps"}},
      {{"--workload", ""}, {"--workload", "empty"}},
      {{"--html", "-"}, {"--html", "--json -"}},
      {{"--html", "x", "--json", "x"}, {"--html", "--json", "same file"}},
      {{"--no-cache", "--cache-dir", "x"}, {"--no-cache", "--cache-dir"}},
      {{"resnet18"}, {"--workload"}},
      {{"resnet18", "--", "python"}, {"--workload"}},
      {{"--"}, {"no command", "{batch}"}},
      {{"--", "python", "--b={bacth}"}, {"{bacth}", "{batch}"}},
      {{"--workload", "resnet18", "--", "python"}, {"--workload", "command"}},
      {{"--image-size", "64", "--", "python"}, {"--image-size", "command"}},
      {{"--ema", "--", "python"}, {"--ema", "command"}},
      {{"--precision", "fp32", "--", "python"}, {"--precision", "command"}},
      {{"--eval-batch", "4", "--", "python"}, {"--eval-batch", "command"}},
      {{"--strategy", "yolov5", "--", "python"}, {"--strategy", "command"}},
      {{"--max-batch", "0", "--", "python"}, {"--max-batch", "1 or more"}},
      {{"--scope", "node"}, {"--scope node", "torchrun"}},
      {{"--scope", "rack", "--", "python"}, {"rack", "node"}},
      {{"--scope", "node", "--parallel", "2", "--", "python"}, {"--scope node", "--parallel"}},
      {{"--scope", "node", "--strategy", "yolov5", "--", "python"}, {"--strategy", "command"}},
  };
  for (const BadCase& bad : cases) {
    const auto line = Parse(bad.arguments);
    ASSERT_FALSE(line.ok()) << testing::PrintToString(bad.arguments);
    EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
    for (const std::string& part : bad.says) {
      EXPECT_THAT(std::string(line.status().message()), HasSubstr(part))
          << testing::PrintToString(bad.arguments);
    }
  }
}

TEST(CommandLineTest, Help_NamesEveryModelAndExitCode) {
  const auto line = Parse({"--help"});
  ASSERT_TRUE(line.ok()) << line.status();
  for (const char* part :
       {"--workload", "gpt2", "yolo", "--memory-limit", "128 + n", "{output_dir}"}) {
    EXPECT_THAT(line->print_and_exit, HasSubstr(part));
  }
}

}  // namespace
}  // namespace autobatch
