#include "orchestrator/launch/torchrun_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

std::optional<TorchrunCommand> Read(absl::string_view text, const Environment& environment = {}) {
  const auto torchrun = ReadTorchrunCommand(Words(text), environment);
  EXPECT_TRUE(torchrun.ok()) << torchrun.status();
  return torchrun.value_or(std::nullopt);
}

TEST(ReadTorchrunCommand_OtherPrograms, AreNone) {
  for (const char* text :
       {"python train.py --nnodes 1:3", "srun torchrun --nnodes=1:3 t.py",
        "python -m pytest torch.distributed.run", "", "mytorchrun",
        "python -u train.py -m torch.distributed.run", "python -c print() -m torch.distributed.run",
        "python -m", "python -W"}) {
    EXPECT_FALSE(Read(text).has_value()) << text;
  }
}

TEST(ReadTorchrunCommand_EverySpelling, IsRead) {
  for (const char* text :
       {"torchrun --nnodes=1:3 --nproc-per-node=2 train.py --x 1",
        "/opt/venv/bin/torchrun --nnodes 1:3 --nproc_per_node 2 train.py --nnodes=9",
        "python3 -m torch.distributed.run --nproc-per-node=2 --nnodes=1:3 train.py",
        "python -u -m torch.distributed.run --standalone --nproc_per_node=2 --nnodes 1:3 -- "
        "train.py",
        "env NCCL_DEBUG=INFO torchrun --nnodes=1:3 --nproc-per-node=2 train.py --x 1",
        "nohup env -u PET_NNODES PET_NPROC_PER_NODE=2 PET_NNODES=1:3 torchrun train.py",
        "torchrun --rdzv-conf last_call_timeout=1,is_host=true --nnodes 1:3 --nproc-per-node 2 "
        "t.py",
        "torchrun --standal --nn 1:3 --nproc_per=2 t.py",
        "torchrun -t3 --nnodes=1:3 -r 3 --nproc-per-node 2 t.py",
        "python -W ignore -Xfaulthandler -mtorch.distributed.run --nnodes 1:3 --nproc-per-node=2 "
        "t.py",
        "python -um torch.distributed.run --nnodes 1:3 --nproc-per-node=2 t.py"}) {
    const auto torchrun = Read(text);
    ASSERT_TRUE(torchrun.has_value()) << text;
    EXPECT_EQ(torchrun->min_nodes, 1) << text;
    EXPECT_EQ(torchrun->max_nodes, 3) << text;
    EXPECT_TRUE(torchrun->elastic()) << text;
    EXPECT_EQ(torchrun->processes, "2") << text;
    EXPECT_THAT(Words(text)[torchrun->program], HasSubstr(".py")) << text;
    EXPECT_EQ(WorldSizeOf(*torchrun, 8), std::nullopt);
  }
}

TEST(ReadTorchrunCommand_PetVariables, AreDefaults) {
  const Environment pet = {{"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "gpu"}};
  EXPECT_EQ(WorldSizeOf(*Read("torchrun train.py", pet), 8), 16);
  EXPECT_EQ(WorldSizeOf(*Read("torchrun --nproc-per-node=4 train.py", pet), 8), 8);
  EXPECT_EQ(WorldSizeOf(*Read("torchrun train.py"), 8), 1);
}

TEST(ReadTorchrunCommand_WrongValues, AreNamed) {
  for (const char* text :
       {"torchrun --nnodes=3:1 t.py", "torchrun --nnodes a t.py",
        "torchrun --nproc-per-node=0 t.py", "torchrun --nproc-per-node=tpu t.py"}) {
    const auto torchrun = ReadTorchrunCommand(Words(text), {});
    EXPECT_TRUE(absl::IsInvalidArgument(torchrun.status())) << text;
    EXPECT_THAT(std::string(torchrun.status().message()), HasSubstr("torchrun's --n"));
  }
}

TEST(PerWorkerForm_ScriptsAndModules, StandBehindTheWorkersLaunch) {
  const std::vector<std::string> launch = {"launch", "--worker", "--"};
  const struct {
    const char* text;
    const char* form;
  } cases[] = {
      {"torchrun --nnodes=1:3 train.py --batch-size {micro_batch}",
       "torchrun --nnodes=1:3 --no-python launch --worker -- python -u train.py --batch-size "
       "{micro_batch}"},
      {"python -m torch.distributed.run --nnodes 1:3 -m my.train {micro_batch}",
       "python -m torch.distributed.run --nnodes 1:3 --no-python launch --worker -- python -m "
       "my.train {micro_batch}"},
      {"env -- A=1 torchrun --nnodes=1:3 -- train.py {micro_batch}",
       "env -- A=1 torchrun --nnodes=1:3 --no-python launch --worker -- python -u train.py "
       "{micro_batch}"},
      {"python -mtorch.distributed.run --no- --nnodes=1:3 ./run.sh",
       "python -mtorch.distributed.run --no- --nnodes=1:3 launch --worker -- ./run.sh"},
      {"torchrun --nnodes=1:3 --no-python ./run.sh {micro_batch}",
       "torchrun --nnodes=1:3 --no-python launch --worker -- ./run.sh {micro_batch}"},
  };
  for (const auto& [text, form] : cases) {
    EXPECT_EQ(absl::StrJoin(PerWorkerForm(Words(text), *Read(text), launch), " "), form);
  }
}

}  // namespace
}  // namespace autobatch
