#include "orchestrator/launch/rank_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<std::optional<RankLauncher>> Read(absl::string_view text,
                                                 Environment environment = {},
                                                 std::optional<int64_t> told = std::nullopt) {
  // No configuration of whoever runs this.
  environment.emplace("HF_HOME", "/nowhere");
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  return ReadRankLauncher(words, environment, told);
}

// "NODES x RANKS at WORD", '-' for what is not known.
std::string Shown(absl::string_view text, const Environment& environment = {},
                  std::optional<int64_t> told = std::nullopt) {
  const auto read = Read(text, environment, told);
  if (!read.ok()) return std::string(read.status().message());
  if (!read->has_value()) return "none";
  const auto number = [](std::optional<int64_t> value) {
    return value.has_value() ? absl::StrCat(*value) : "-";
  };
  return absl::StrCat((*read)->name, ": ", number((*read)->nodes), " x ",
                      number((*read)->processes), " at ", (*read)->program);
}

std::string Folder(absl::string_view name) {
  std::string folder = absl::StrCat(testing::TempDir(), "/", name);
  std::filesystem::create_directories(folder + "/accelerate");
  return folder;
}

TEST(ReadRankLauncher_OtherPrograms, AreNone) {
  for (const char* text : {"", "torchrun t.py", "accelerate config",
                           "python train.py --strategy deepspeed", "python -m deepspeed t.py",
                           "accelerate launch --cpu t.py", "accelerate launch --tpu t.py"}) {
    EXPECT_EQ(Shown(text), "none") << text;
  }
}

TEST(ReadRankLauncher_Accelerate, CountsAllProcessesOfAllMachines) {
  EXPECT_EQ(Shown("accelerate launch --num_processes 4 t.py"), "accelerate launch: 1 x 4 at 4");
  EXPECT_EQ(Shown("env A=1 /opt/bin/accelerate launch --num-machines=2 --num-processes=16 "
                  "--multi_gpu --mixed_precision bf16 t.py --num_processes 3"),
            "accelerate launch: 2 x 16 at 9");
  EXPECT_EQ(Shown("accelerate-launch --num_processes 2 -m mod"), "accelerate launch: 1 x 2 at 4");
  EXPECT_EQ(Shown("python -m accelerate.commands.launch --num_processes 2 t.py"),
            "accelerate launch: 1 x 2 at 5");
}

TEST(ReadRankLauncher_AccelerateWithoutConfiguration, StartsOneADevice) {
  EXPECT_EQ(Shown("accelerate launch t.py"), "accelerate launch: 1 x - at 2");
  EXPECT_EQ(Shown("accelerate launch --gpu_ids all t.py"), "accelerate launch: 1 x - at 4");
}

TEST(ReadRankLauncher_AcceleratesConfiguration, SaysWhatTheLineDoesNot) {
  const std::string home = Folder("whole");
  ASSERT_TRUE(WriteFileAtomically(home + "/accelerate/default_config.yaml",
                                  "compute_environment: LOCAL_MACHINE\nfsdp_config:\n"
                                  "  num_processes: 7\nnum_machines: 2 # both\n"
                                  "num_processes: '16'\n")
                  .ok());
  EXPECT_EQ(Shown("accelerate launch t.py", {{"HF_HOME", home}}), "accelerate launch: 2 x 16 at 2");
  EXPECT_EQ(Shown("accelerate launch --num_processes 4 t.py", {{"HF_HOME", home}}),
            "accelerate launch: 2 x 4 at 4");
  EXPECT_EQ(Shown(absl::StrCat("env HF_HOME=", home, " accelerate launch t.py")),
            "accelerate launch: 2 x 16 at 4");
  ASSERT_TRUE(
      WriteFileAtomically(home + "/c.json", R"({"num_machines": 1, "num_processes": 3})").ok());
  EXPECT_EQ(Shown(absl::StrCat("accelerate launch --config_file ", home, "/c.json t.py")),
            "accelerate launch: 1 x 3 at 4");
  std::filesystem::create_directories(home + "/huggingface");
  std::filesystem::rename(home + "/accelerate", home + "/huggingface/accelerate");
  EXPECT_EQ(Shown("env -u HF_HOME accelerate launch t.py", {{"XDG_CACHE_HOME", home}}),
            "accelerate launch: 2 x 16 at 5");
}

TEST(ReadRankLauncher_AcceleratesCountThatIsNotKnown, IsRefusedByName) {
  const std::string home = Folder("part");
  const std::string config = home + "/accelerate/default_config.yaml";
  ASSERT_TRUE(WriteFileAtomically(config, "distributed_type: MULTI_GPU\n").ok());
  EXPECT_THAT(Shown("accelerate launch t.py", {{"HF_HOME", home}}),
              AllOf(HasSubstr(config), HasSubstr("no num_processes"), HasSubstr("--world-size N"),
                    HasSubstr("--num_processes N")));
  EXPECT_EQ(Shown("accelerate launch t.py", {{"HF_HOME", home}}, 8),
            "accelerate launch: 1 x - at 2");
  EXPECT_THAT(Shown("accelerate launch --num_machines 2 t.py"),
              HasSubstr("--num_machines 2: without --num_processes it would divide"));
  EXPECT_THAT(Shown("accelerate launch --gpu_ids 0,1 t.py"),
              AllOf(HasSubstr("--gpu_ids 0,1"), HasSubstr("CUDA_VISIBLE_DEVICES=0,1")));
  EXPECT_THAT(Shown("accelerate launch --num_processes 3 --num_machines 2 t.py"),
              HasSubstr("--num_processes 3: is the number of all, and no multiple of the 2"));
  EXPECT_THAT(Shown("accelerate launch --num_processes 0 t.py"), HasSubstr("from 1"));
  EXPECT_THAT(Shown("accelerate launch --num_processes many t.py"), HasSubstr("'many'"));
  EXPECT_THAT(Shown("accelerate launch --config_file /none.yaml t.py"),
              AllOf(HasSubstr("/none.yaml"), HasSubstr("No such file")));
}

TEST(ReadRankLauncher_DeepSpeed, StartsOneADeviceOrWhatItIsTold) {
  EXPECT_EQ(Shown("deepspeed t.py --num_gpus 3"), "deepspeed: 1 x - at 1");
  EXPECT_EQ(Shown("deepspeed --num_gpus 4 --no_local_rank t.py"), "deepspeed: 1 x 4 at 4");
  EXPECT_EQ(Shown("python -m deepspeed.launcher.runner --num_accel=2 t.py"),
            "deepspeed: 1 x 2 at 4");
  EXPECT_EQ(Shown("deepspeed --hostfile /none t.py"), "deepspeed: 1 x - at 3")
      << "it goes on with this node";
}

TEST(ReadRankLauncher_DeepSpeedsCountThatIsNotKnown, IsRefusedByName) {
  const std::string hosts = Folder("hosts") + "/hosts";
  ASSERT_TRUE(WriteFileAtomically(hosts, "n1 slots=8\nn2 slots=8\n").ok());
  EXPECT_THAT(Shown(absl::StrCat("deepspeed -H ", hosts, " t.py")),
              AllOf(HasSubstr(hosts), HasSubstr("--world-size N")));
  EXPECT_EQ(Shown(absl::StrCat("deepspeed -H ", hosts, " t.py"), {}, 16), "deepspeed: - x - at 3");
  EXPECT_THAT(Shown("deepspeed --include localhost:0,2 t.py"), HasSubstr("localhost:0,2"));
  EXPECT_THAT(Shown("deepspeed -e localhost:1 t.py"), HasSubstr("-e localhost:1"));
  EXPECT_THAT(Shown("deepspeed --elastic_training t.py"), HasSubstr("--elastic_training"));
  EXPECT_THAT(Shown("deepspeed --num_gpus -1 t.py"), HasSubstr("'-1'"));
}

TEST(ReadRankLauncher_KnownByNameOnly, IsNotCounted) {
  const auto composer = Read("composer -n 8 t.py");
  ASSERT_TRUE(composer.ok());
  EXPECT_EQ((*composer)->name, "composer");
  EXPECT_TRUE((*composer)->uncounted);
  EXPECT_FALSE((*Read("composer -n 8 t.py", {}, 8))->uncounted);
  EXPECT_EQ(Shown("tune download x"), "none");
  EXPECT_EQ(Shown("tune run x"), "tune run: - x - at 3");
}

}  // namespace
}  // namespace autobatch
