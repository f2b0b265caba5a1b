#include "orchestrator/launch/world_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<WorldCommand> Read(absl::string_view text,
                                  std::optional<int64_t> world_size = std::nullopt) {
  return ReadWorldCommand(std::vector<std::string>(absl::StrSplit(text, ' ')),
                          {{"HF_HOME", "/nowhere"}}, world_size, "launch");
}

// Rows for 1 to 16 ranks; two processes hold a replica.
Record SomeRecord() {
  Record record;
  record.run_id = "job1";
  record.world_size = 4;
  record.request.model_parallel_size = 2;
  for (int64_t ranks = 1; ranks <= 16; ++ranks) {
    record.plan.rows.push_back({.world_size = ranks,
                                .processes = 2 * ranks,
                                .global_batch = 10 * ranks,
                                .micro_batch = 10,
                                .accumulation = 1});
  }
  return record;
}

int64_t Ranks(absl::string_view text, std::optional<int64_t> devices = std::nullopt,
              std::optional<int64_t> world_size = std::nullopt) {
  const auto world = Read(text, world_size);
  EXPECT_TRUE(world.ok()) << world.status();
  const auto values = ValuesFor(*world, SomeRecord(), "r", devices);
  EXPECT_TRUE(values.ok()) << values.status();
  return values->global_batch / 5;
}

TEST(ValuesFor_WorldOfTheCommand, TakesItsRow) {
  EXPECT_EQ(Ranks("torchrun --nnodes=2 --nproc-per-node=4 t.py {micro_batch}"), 8);
  EXPECT_EQ(Ranks("torchrun --nproc-per-node=gpu t.py", 6), 6);
  // Not known how many devices: the world that was agreed.
  EXPECT_EQ(Ranks("torchrun --nproc-per-node=gpu t.py"), 8);
  EXPECT_EQ(Ranks("torchrun --nnodes=2 --nproc-per-node=auto t.py", 6), 8);
  EXPECT_EQ(Ranks("srun python t.py"), 8);
  EXPECT_EQ(Ranks("accelerate launch --num_machines 2 --num_processes 12 t.py"), 12);
  EXPECT_EQ(Ranks("accelerate launch t.py", 6), 6);
  EXPECT_EQ(Ranks("deepspeed --num_gpus 4 t.py", 6), 4);
  EXPECT_EQ(Ranks("srun -n 12 python t.py", std::nullopt, 12), 12);
}

TEST(ValuesFor_ElasticWorld, HasNoValueOfOneWorld) {
  const auto world = Read("torchrun --nnodes=1:3 t.py");
  ASSERT_TRUE(world.ok()) << world.status();
  EXPECT_TRUE(world->elastic);
  const auto values = ValuesFor(*world, SomeRecord(), "r", 8);
  ASSERT_TRUE(values.ok());
  for (const auto& variable : values->variables) {
    EXPECT_NE(variable.name, "AUTOBATCH_MICRO_BATCH");
    EXPECT_NE(variable.name, "AUTOBATCH_WORLD_SIZE");
  }
}

TEST(ValuesFor_WorldWithoutARow, IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ValuesFor(*Read("true", 99), SomeRecord(), "r", 8).status()));
}

TEST(ReadWorldCommand_PlaceholderInFrontOfElasticTorchrun, NamesThePerWorkerForm) {
  const auto world = Read("torchrun --nnodes=1:3 t.py --batch-size {micro_batch}");
  EXPECT_TRUE(absl::IsInvalidArgument(world.status()));
  EXPECT_THAT(std::string(world.status().message()),
              HasSubstr("{micro_batch} in front of an elastic torchrun (1 to 3 nodes)"));
  EXPECT_THAT(std::string(world.status().message()),
              HasSubstr("-- torchrun '--nnodes=1:3' --no-python launch --worker -- python -u t.py "
                        "--batch-size '{micro_batch}'"));
}

TEST(ReadWorldCommand_ElasticTorchrunBehindAnotherProgram, IsElastic) {
  for (const char* text : {"env A=1 torchrun --nnodes=1:3 t.py", "srun torchrun --nnodes=1:3 t.py",
                           "timeout 9h python -m torch.distributed.run --nnodes=1:3 t.py"}) {
    const auto world = Read(text);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_TRUE(world->elastic) << text;
    const std::string refused(Read(absl::StrCat(text, " {micro_batch}")).status().message());
    EXPECT_THAT(refused, HasSubstr("{micro_batch} in front of an elastic torchrun")) << text;
    EXPECT_THAT(refused, HasSubstr("--no-python launch --worker -- python -u t.py")) << text;
  }
  EXPECT_THAT(std::string(Read("srun torchrun --nnodes=1:3 t.py {micro_batch}").status().message()),
              HasSubstr("-- srun torchrun '--nnodes=1:3' --no-python"));
  // A name in other words is no torchrun, and one world keeps its values.
  EXPECT_FALSE(Read("python t.py --launcher torchrun {micro_batch}")->elastic);
  EXPECT_FALSE(Read("srun torchrun --nnodes=3 t.py {micro_batch}")->elastic);
}

TEST(ReadWorldCommand_ElasticTorchrunInAShellsText, IsElasticAndItsPlaceholdersAreRefused) {
  for (const char* text :
       {"cd /job; exec torchrun --nnodes=1:3 t.py", "A=1 torchrun --nnodes=1:3 t.py",
        "cd /job&&torchrun --nnodes=1:3 --no-python launch --worker -- t.py",
        "(python3 -m torch.distributed.run --nnodes=1:3 t.py)"}) {
    const std::vector<std::string> quiet = {"bash", "-c", text};
    const auto world = ReadWorldCommand(quiet, {}, std::nullopt, "launch");
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_TRUE(world->elastic) << text;
    const std::vector<std::string> filled = {"sh", "-ec", absl::StrCat(text, " {micro_batch}")};
    EXPECT_THAT(
        std::string(ReadWorldCommand(filled, {}, std::nullopt, "launch").status().message()),
        HasSubstr("{micro_batch} in a shell's text with an elastic torchrun (1 to 3 nodes)"))
        << text;
  }
  const std::vector<std::string> fixed = {"sh", "-c", "torchrun --nnodes=3 t.py {micro_batch}"};
  EXPECT_FALSE(ReadWorldCommand(fixed, {}, std::nullopt, "launch")->elastic);
}

TEST(ReadWorldCommand_PlaceholderBehindAWorkersLaunch, IsTheWorkers) {
  EXPECT_TRUE(Read("torchrun --nnodes=1:3 --no-python launch --worker -- t.py {micro_batch}").ok());
}

TEST(ReadWorldCommand_WorldSizeThatTorchrunDenies, IsRefused) {
  EXPECT_THAT(std::string(Read("torchrun --nproc-per-node=4 t.py", 8).status().message()),
              HasSubstr("--world-size 8 and torchrun's own world of 4 ranks"));
  EXPECT_TRUE(Read("torchrun --nproc-per-node=4 t.py", 4).ok());
  EXPECT_THAT(std::string(Read("accelerate launch --num_processes 4 t.py", 8).status().message()),
              HasSubstr("accelerate launch's own world of 4 ranks (--num_processes) contradict"));
}

}  // namespace
}  // namespace autobatch
