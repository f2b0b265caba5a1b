#include "orchestrator/launch/hosted_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

absl::StatusOr<HostedRun> Plan(absl::string_view text, const LauncherFacts& launcher = {}) {
  const auto line = ParseLaunchLine(Words(text), {});
  EXPECT_TRUE(line.ok()) << line.status();
  const auto world =
      ReadWorldCommand(line->command, {{"HF_HOME", "/nowhere"}}, line->world_size, "launch");
  EXPECT_TRUE(world.ok()) << world.status();
  return PlanHostedRun(*line, launcher, *world, "abcd");
}

HostedRun Planned(absl::string_view text, const LauncherFacts& launcher = {}) {
  const auto run = Plan(text, launcher);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.value_or(HostedRun());
}

LauncherFacts Slurm(const std::string& node) {
  return {.dialect = Dialect::kSlurm,
          .rank = node == "n1" ? 0 : 1,
          .local_rank = 0,
          .world_size = 2,
          .local_world_size = 1,
          .node_rank = node == "n1" ? 0 : 1,
          .node_count = 2,
          .run_id = "slurm-7",
          .node_name = node,
          .nodes = {"n1", "n2"}};
}

TEST(PlanHostedRun_OneNode, HostsAllAndNeedsNothing) {
  const HostedRun run =
      Planned("--workload gpt2 --rule exact --global-batch 64 -- torchrun --nproc-per-node=2 t.py");
  EXPECT_TRUE(run.own_secret);
  ASSERT_TRUE(run.coordinator.has_value());
  EXPECT_EQ(run.coordinator->config.run_id, "local-abcd");
  EXPECT_EQ(run.coordinator->config.max_nodes, 1);
  EXPECT_EQ(run.coordinator->bind_address, "127.0.0.1");
  EXPECT_EQ(run.coordinator->ports.first, 0);
  EXPECT_EQ(run.coordinator->plan.request.global_batch, 64);
  EXPECT_THAT(run.coordinator->state_directory, StartsWith(run.agent.state_directory));
  EXPECT_EQ(run.agent.config.hello.run_id, "local-abcd");
  EXPECT_EQ(run.agent.probe.workload.name, "gpt2");
  EXPECT_FALSE(run.agent.config.once);
  EXPECT_TRUE(run.agent.alone);
}

TEST(PlanHostedRun_FirstNodeOfAStep, HostsTheCoordinatorForAll) {
  const HostedRun run = Planned("--secret-file /s -- torchrun --nnodes=2 t.py", Slurm("n1"));
  EXPECT_FALSE(run.own_secret);
  ASSERT_TRUE(run.coordinator.has_value());
  EXPECT_FALSE(run.agent.alone);
  EXPECT_EQ(run.coordinator->config.run_id, "slurm-7");
  EXPECT_EQ(run.coordinator->config.min_nodes, 2);
  EXPECT_EQ(run.coordinator->config.max_nodes, 2);
  EXPECT_EQ(run.coordinator->bind_address, "::");
  EXPECT_EQ(run.coordinator->credentials.secret_file, "/s");
}

TEST(PlanHostedRun_OtherNodes, ConnectToTheFirst) {
  const HostedRun run = Planned("--secret-file /s -- torchrun --nnodes=1:2 t.py", Slurm("n2"));
  EXPECT_FALSE(run.coordinator.has_value());
  ASSERT_EQ(run.agent.coordinator.size(), 1u);
  EXPECT_EQ(run.agent.coordinator[0].host, "n1");
  const HostedRun given =
      Planned("--secret-file /s --coordinator head:5 -- srun t.py", Slurm("n1"));
  EXPECT_FALSE(given.coordinator.has_value());
  EXPECT_EQ(given.agent.coordinator[0].ToString(), "head:5");
}

TEST(PlanHostedRun_HostedByTheUsersWord, NeedsNoLauncher) {
  const HostedRun run = Planned(
      "--secret-file /s --run-id job --host-coordinator --rule exact --global-batch 8 --port 5 -- "
      "torchrun --nnodes=2 t.py");
  ASSERT_TRUE(run.coordinator.has_value());
  EXPECT_EQ(run.coordinator->ports.first, 5);
  EXPECT_EQ(run.coordinator->config.max_nodes, 2);
  // The others have no such options to compare.
  EXPECT_TRUE(run.agent.settings.empty());
}

TEST(PlanHostedRun_NodeCount, IsTheUsersElseTheCommandsElseTheLaunchers) {
  const auto nodes = [](absl::string_view text, const LauncherFacts& launcher) {
    const CoordinatorConfig config = Planned(text, launcher).coordinator->config;
    return std::make_pair(config.min_nodes, config.max_nodes);
  };
  EXPECT_EQ(nodes("--secret-file /s -- torchrun --nnodes=1:4 t.py", Slurm("n1")),
            std::make_pair(int64_t{1}, int64_t{4}));
  EXPECT_EQ(nodes("--secret-file /s -- srun t.py", Slurm("n1")),
            std::make_pair(int64_t{2}, int64_t{2}));
  LauncherFacts batch_script = Slurm("n1");
  batch_script.rank.reset();
  batch_script.world_size.reset();
  batch_script.local_world_size.reset();
  EXPECT_EQ(nodes("--secret-file /s -- torchrun --nproc-per-node=8 t.py", batch_script),
            std::make_pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(nodes("--secret-file /s -- torchrun --nnodes=2 t.py", batch_script),
            std::make_pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(nodes("--secret-file /s -- srun torchrun --nnodes=2 t.py", batch_script),
            std::make_pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(nodes("--secret-file /s --min-nodes 1 --max-nodes 2 -- srun t.py", Slurm("n1")),
            std::make_pair(int64_t{1}, int64_t{2}));
}

TEST(PlanHostedRun_ElasticWorld, HasRowsForSmallerOnes) {
  const auto least = [](absl::string_view text) {
    return Planned(text, Slurm("n1")).coordinator->plan.request.min_world_size;
  };
  EXPECT_EQ(least("--secret-file /s -- torchrun --nnodes=1:2 t.py"), 1);
  EXPECT_EQ(least("--secret-file /s --min-ranks 4 -- torchrun --nnodes=1:2 t.py"), 4);
  EXPECT_EQ(least("--secret-file /s -- torchrun --nnodes=2 t.py"), std::nullopt);
}

TEST(PlanHostedRun_WhatIsMissing, IsSaidAtOnce) {
  const auto error = [](absl::string_view text, const LauncherFacts& launcher) {
    return std::string(Plan(text, launcher).status().message());
  };
  EXPECT_THAT(error("-- torchrun --nnodes=2 t.py", Slurm("n1")), HasSubstr("--secret-file"));
  EXPECT_THAT(error("--secret-file /s -- torchrun --nnodes=2 t.py", {}), HasSubstr("--run-id"));
  EXPECT_THAT(error("--secret-file /s --run-id job -- torchrun --nnodes=2 t.py", {}),
              HasSubstr("--coordinator HOST:PORT"));
  LauncherFacts tasks = Slurm("n1");
  tasks.local_world_size = 4;
  EXPECT_THAT(error("--secret-file /s -- torchrun --nnodes=2 t.py", tasks),
              HasSubstr("Slurm starts 4 tasks on this node"));
  EXPECT_THAT(error("--secret-file /s --rule exact --global-batch 8 --coordinator n1 -- srun t.py",
                    Slurm("n2")),
              HasSubstr("--rule and --coordinator contradict"));
}

TEST(PlanHostedRun_CountThatIsNotKnown_IsNamed, AndSlurmsOneTaskIsNotTakenForIt) {
  const auto error = [](absl::string_view text) {
    return std::string(Plan(text, Slurm("n1")).status().message());
  };
  EXPECT_THAT(error("--secret-file /s -- composer -n 8 t.py"),
              AllOf(HasSubstr("composer starts ranks of its own"), HasSubstr("--world-size N")));
  EXPECT_THAT(error("--secret-file /s -- accelerate launch t.py"),
              AllOf(HasSubstr("the job has 2 nodes, and accelerate launch would start a world"),
                    HasSubstr("--num_machines")));
  EXPECT_THAT(error("--secret-file /s -- deepspeed t.py"), HasSubstr("--hostfile"));
  LauncherFacts tasks = Slurm("n1");
  tasks.local_world_size = 4;
  EXPECT_THAT(std::string(Plan("--secret-file /s -- accelerate launch --num_machines 2 "
                               "--num_processes 16 t.py",
                               tasks)
                              .status()
                              .message()),
              HasSubstr("each would start its own accelerate launch"));
}

TEST(PlanHostedRun_PlanOfTheSameCommandOnEveryNode, IsASettingThatIsCompared) {
  for (const char* node : {"n1", "n2"}) {
    const HostedRun run =
        Planned("--secret-file /s --rule exact --global-batch 8 -- srun t.py", Slurm(node));
    ASSERT_EQ(run.agent.settings.size(), 1u);
    EXPECT_EQ(run.agent.settings[0].value, "--rule exact --global-batch 8");
  }
}

TEST(PlanHostedRun_PlanOfANodeThatHostsNoCoordinator, IsReadThereToo) {
  const HostedRun run =
      Planned("--secret-file /s --rule exact --global-batch 8 -- srun t.py", Slurm("n2"));
  EXPECT_FALSE(run.coordinator.has_value());
  EXPECT_EQ(run.plan.global_batch, 8);
  const auto wrong = Plan("--secret-file /s --rule exact -- srun t.py", Slurm("n2"));
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("the rule exact needs"));
}

TEST(PlanHostedRun_RanksThatWillTrain, AreTheCommandsWhereItStartsThemItself) {
  using Counts = std::pair<std::optional<int64_t>, std::optional<int64_t>>;
  const auto counts = [](const std::string& text, const LauncherFacts& launcher) {
    const LauncherFacts facts = Planned("--secret-file /s --run-id r " + text, launcher).launcher;
    return Counts(facts.world_size, facts.local_world_size);
  };
  const auto one_a_node = [&](const std::string& text) { return counts(text, Slurm("n1")); };
  // Slurm's one task a node is this program.
  EXPECT_EQ(one_a_node("-- torchrun --nnodes=2 --nproc-per-node=8 t.py"), Counts(16, 8));
  EXPECT_EQ(one_a_node("-- torchrun --nnodes=2 --nproc-per-node=gpu t.py"), Counts());
  EXPECT_EQ(one_a_node("-- torchrun --nnodes=1:2 --nproc-per-node=8 t.py"),
            Counts(std::nullopt, 8));
  EXPECT_EQ(one_a_node("-- numactl -N 0 torchrun --nnodes=2 --nproc-per-node=8 t.py"), Counts());
  EXPECT_EQ(one_a_node("-- ./train.sh --with torchrun"), Counts(2, 1));
  EXPECT_EQ(one_a_node("--world-size 16 -- ./train.sh"), Counts(16, std::nullopt));
  EXPECT_EQ(one_a_node("--publish /shared"), Counts());
  EXPECT_EQ(one_a_node("-- accelerate launch --num_machines 2 --num_processes 16 t.py"),
            Counts(16, 8));
  EXPECT_EQ(one_a_node("--max-nodes 1 -- accelerate launch t.py"), Counts());
  EXPECT_EQ(one_a_node("--max-nodes 1 -- deepspeed --num_gpus 4 t.py"), Counts(4, 4));
  EXPECT_EQ(one_a_node("--max-nodes 1 -- deepspeed t.py"), Counts());
  EXPECT_EQ(one_a_node("--world-size 16 -- composer -n 8 t.py"), Counts(16, std::nullopt));
  EXPECT_EQ(one_a_node("-- numactl -N 0 accelerate launch t.py"), Counts());
  EXPECT_EQ(one_a_node("-- python t.py --strategy deepspeed config.json"), Counts(2, 1));
  // Else it is the process that trains.
  EXPECT_EQ(one_a_node("-- ./train.sh"), Counts(2, 1));
  EXPECT_EQ(counts("-- torchrun --nproc-per-node=2 t.py", {}), Counts(2, 2));
  EXPECT_EQ(counts("--world-size 3 -- ./train.sh", {}), Counts(3, 3));
  EXPECT_EQ(counts("-- ./train.sh", {}), Counts());
  EXPECT_EQ(Planned("-- torchrun t.py").launcher.dialect, Dialect::kTorchrun);
}

TEST(PlanHostedRun_TimeLimits, AreTheAgentsAndTheCoordinators) {
  const HostedRun run =
      Planned("--secret-file /s --join-timeout 40s --commit-timeout 3s -- torchrun --nnodes=2 t.py",
              Slurm("n1"));
  EXPECT_EQ(run.agent.config.join_timeout, absl::Seconds(40));
  EXPECT_EQ(run.coordinator->config.join_timeout, absl::Seconds(40));
  EXPECT_EQ(run.coordinator->config.commit_timeout, absl::Seconds(3));
  // No place of its own: nobody else has to find it.
  EXPECT_EQ(Planned("--join-timeout 40s -- t.py").coordinator->bind_address, "127.0.0.1");
  EXPECT_EQ(Planned("--bind=:: -- t.py").coordinator->bind_address, "::");
}

TEST(PlanHostedRun_InitContainer, EndsWithTheFirstCommit) {
  const HostedRun run = Planned("--publish /shared");
  EXPECT_TRUE(run.agent.config.once);
  EXPECT_TRUE(run.coordinator->config.once);
}

TEST(PlanHostedRun_ProbeOfOnesOwn, IsTheAgentsWorkload) {
  const auto line = ParseLaunchLine(
      std::vector<std::string>{"--probe", "python t.py {batch}", "--", "torchrun", "t.py"}, {});
  const auto run = PlanHostedRun(*line, {}, WorldCommand(), "abcd");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->agent.probe.workload.command,
              ::testing::ElementsAre("python", "t.py", "{batch}"));
}

}  // namespace
}  // namespace autobatch
