#include "orchestrator/dialect/read_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As seen in a worker of torchrun 2.11.
Environment Torchrun() {
  return {{"RANK", "2"},
          {"LOCAL_RANK", "0"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"GROUP_RANK", "1"},
          {"GROUP_WORLD_SIZE", "2"},
          {"ROLE_RANK", "2"},
          {"MASTER_ADDR", "10.0.0.1"},
          {"MASTER_PORT", "44133"},
          {"TORCHELASTIC_RESTART_COUNT", "3"},
          {"TORCHELASTIC_MAX_RESTARTS", "3"},
          {"TORCHELASTIC_RUN_ID", "job1"}};
}

// As seen in a task of Slurm 22.05: rank 3 of `srun -N2 -n4`, which places 3 + 1.
Environment Slurm() {
  return {{"SLURM_PROCID", "3"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", "1"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_NNODES", "2"},
          {"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_JOB_NODELIST", "n[1-3]"},
          {"SLURM_STEP_NODELIST", "n[2-3]"},
          {"SLURM_JOB_NUM_NODES", "3"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_TASKS_PER_NODE", "3,1"},
          {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
          {"SLURMD_NODENAME", "n3"},
          {"SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1"}};
}

Environment OpenMpi() {
  return {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "3"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_COMM_WORLD_NODE_RANK", "9"},
          {"PMIX_RANK", "1"},
          {"PMIX_HOSTNAME", "h1"}};
}

Environment Pods(std::string world_size) {
  return {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
          {"HOSTNAME", "job-worker-0"},
          {"MASTER_ADDR", "job-master-0"},
          {"MASTER_PORT", "23456"},
          {"RANK", "1"},
          {"WORLD_SIZE", std::move(world_size)},
          {"PET_NODE_RANK", "1"},
          {"PET_NNODES", "2"}};
}

Environment With(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

LauncherFacts Facts(const Environment& environment) {
  const LauncherReading reading = ReadLauncher(environment);
  EXPECT_THAT(reading.contradictions, IsEmpty());
  return reading.facts;
}

// "2 of 4, 0 of 2 on node 1 of 2": rank of the world, local rank, node; "?" where it is not told.
std::string Place(const LauncherFacts& facts) {
  const auto number = [](std::optional<int64_t> value) {
    return value.has_value() ? absl::StrCat(*value) : "?";
  };
  return absl::StrCat(number(facts.rank), " of ", number(facts.world_size), ", ",
                      number(facts.local_rank), " of ", number(facts.local_world_size), " on node ",
                      number(facts.node_rank), " of ", number(facts.node_count));
}

std::string Contradictions(const Environment& environment) {
  return absl::StrJoin(ReadLauncher(environment).contradictions, "|");
}

TEST(ReadLauncher_NoLauncher, SaysNothing) {
  const LauncherReading reading = ReadLauncher({{"PATH", "/bin"}, {"MASTER_ADDR", "x"}});
  EXPECT_EQ(reading.facts.dialect, Dialect::kNone);
  EXPECT_EQ(reading.facts.rank, std::nullopt);
  EXPECT_TRUE(CheckReading(reading).ok());
  EXPECT_EQ(DialectName(reading.facts), "no launcher");
}

TEST(ReadLauncher_TorchrunsWorker, SaysRanksAgentsAndRun) {
  const LauncherFacts facts = Facts(Torchrun());
  EXPECT_EQ(facts.dialect, Dialect::kTorchrun);
  EXPECT_EQ(Place(facts), "2 of 4, 0 of 2 on node 1 of 2");
  EXPECT_EQ(facts.restart_count, 3);
  EXPECT_EQ(facts.run_id, "job1");
  EXPECT_EQ(facts.master_address, "10.0.0.1");
  EXPECT_EQ(facts.master_port, 44133);
  EXPECT_EQ(facts.world_size_counts, WorldSizeCounts::kProcesses);
}

TEST(ReadLauncher_TorchrunsDefaultRunId, IsNoRunId) {
  EXPECT_EQ(Facts(With(Torchrun(), {{"TORCHELASTIC_RUN_ID", "none"}})).run_id, "");
}

TEST(ReadLauncher_SlurmsTask, SaysTheStepsNodes) {
  const LauncherFacts facts = Facts(Slurm());
  EXPECT_EQ(facts.dialect, Dialect::kSlurm);
  EXPECT_EQ(Place(facts), "3 of 4, 0 of 1 on node 1 of 2");
  EXPECT_EQ(facts.run_id, "slurm-77");
  EXPECT_EQ(facts.restart_count, std::nullopt);
  EXPECT_EQ(facts.node_name, "n3");
  EXPECT_THAT(facts.nodes, ElementsAre("n2", "n3"));
  // Where srun was called is not where rank 0 is.
  EXPECT_EQ(facts.master_address, "");
}

TEST(ReadLauncher_SlurmsBatchScript, HasNoRank) {
  const LauncherFacts facts = Facts({{"SLURM_JOB_ID", "5"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "4"},
                                     {"SLURM_NNODES", "2"},
                                     {"SLURM_JOB_NUM_NODES", "2"},
                                     {"SLURM_JOB_NODELIST", "n[1-2]"},
                                     {"SLURM_RESTART_COUNT", "2"},
                                     {"SLURMD_NODENAME", "n1"}});
  EXPECT_EQ(Place(facts), "? of ?, ? of ? on node ? of 2");
  EXPECT_EQ(facts.restart_count, 2);
  EXPECT_THAT(facts.nodes, ElementsAre("n1", "n2"));
}

TEST(ReadLauncher_OpenMpisRank, HasNoNodeRank) {
  const LauncherFacts facts = Facts(OpenMpi());
  EXPECT_EQ(facts.dialect, Dialect::kOpenMpi);
  EXPECT_EQ(Place(facts), "1 of 3, 1 of 2 on node ? of ?");
  EXPECT_EQ(facts.node_name, "h1");
}

TEST(ReadLauncher_MpichsRank, IsReadFromPmi) {
  const LauncherFacts facts = Facts(
      {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(facts.dialect, Dialect::kMpich);
  EXPECT_EQ(Place(facts), "2 of 4, 0 of 2 on node ? of ?");
}

TEST(ReadLauncher_PodWithOneProcess, HasItsPodsRank) {
  const LauncherFacts facts = Facts(With(Pods("2"), {{"PET_NPROC_PER_NODE", "1"}}));
  EXPECT_EQ(facts.dialect, Dialect::kKubeflow);
  EXPECT_EQ(facts.world_size_counts, WorldSizeCounts::kBoth);
  EXPECT_EQ(Place(facts), "1 of 2, 0 of 1 on node 1 of 2");
  EXPECT_EQ(facts.node_name, "job-worker-0");
  EXPECT_EQ(facts.master_address, "job-master-0");
}

TEST(ReadLauncher_PodsWorldSize, IsToldApartByProcessesPerNode) {
  const Environment eight = {{"PET_NPROC_PER_NODE", "8"}};
  EXPECT_EQ(Facts(With(Pods("16"), eight)).world_size_counts, WorldSizeCounts::kProcesses);
  EXPECT_EQ(Facts(With(Pods("16"), eight)).rank, std::nullopt);
  EXPECT_EQ(Facts(With(Pods("2"), eight)).world_size_counts, WorldSizeCounts::kNodes);
  EXPECT_EQ(Facts(With(Pods("2"), eight)).world_size, std::nullopt);
  EXPECT_EQ(Facts(With(Pods("2"), {{"PET_NPROC_PER_NODE", "auto"}})).world_size_counts,
            WorldSizeCounts::kNodes);
  EXPECT_EQ(Facts(Pods("2")).world_size_counts, WorldSizeCounts::kNodes);
  EXPECT_EQ(Contradictions(With(Pods("5"), eight)),
            "WORLD_SIZE=5 is neither PET_NNODES=2 nor that times PET_NPROC_PER_NODE=8");
}

TEST(ReadLauncher_ElasticPods, SayTheirBoundsAndRunId) {
  const LauncherFacts facts = Facts({{"PET_NNODES", "1:4"},
                                     {"PET_RDZV_ID", "run-9"},
                                     {"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
                                     {"HOSTNAME", "job-worker-2"}});
  EXPECT_EQ(facts.min_nodes, 1);
  EXPECT_EQ(facts.max_nodes, 4);
  EXPECT_EQ(facts.node_count, std::nullopt);
  EXPECT_EQ(facts.run_id, "run-9");
  EXPECT_EQ(facts.master_address, "job-worker-0");
  EXPECT_EQ(Facts({{"PET_RDZV_ENDPOINT", "[fd00::1]:23456"}}).master_address, "fd00::1");
  EXPECT_THAT(Contradictions({{"PET_NNODES", "4:1"}}), HasSubstr("PET_NNODES='4:1'"));
}

TEST(ReadLauncher_TorchrunInAPod, SaysTheRanks) {
  const LauncherFacts facts =
      Facts(With(With(Pods("2"), Torchrun()), {{"PET_RDZV_ID", "run-9"}, {"PET_NODE_RANK", "1"}}));
  EXPECT_EQ(DialectName(facts), "torchrun in Kubeflow");
  EXPECT_EQ(facts.rank, 2);
  EXPECT_EQ(facts.run_id, "job1");
  EXPECT_EQ(facts.node_name, "job-worker-0");
  EXPECT_EQ(Contradictions(With(With(Pods("2"), Torchrun()), {{"PET_NNODES", "3"}})),
            "torchrun's world has 2 nodes, and PET_NNODES=3");
}

TEST(ReadLauncher_TorchrunInSlurm, CompletesEachOther) {
  // One agent a node.
  const Environment agents = With(Slurm(), {{"SLURM_PROCID", "1"},
                                            {"SLURM_NTASKS", "2"},
                                            {"SLURM_STEP_NUM_TASKS", "2"},
                                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  const LauncherFacts facts = Facts(With(agents, Torchrun()));
  EXPECT_EQ(DialectName(facts), "torchrun in Slurm");
  EXPECT_EQ(Place(facts), "2 of 4, 0 of 2 on node 1 of 2");
  EXPECT_EQ(facts.node_name, "n3");
  EXPECT_THAT(facts.nodes, ElementsAre("n2", "n3"));
  EXPECT_EQ(facts.run_id, "job1");
  EXPECT_EQ(Contradictions(With(With(agents, Torchrun()), {{"GROUP_WORLD_SIZE", "3"}})),
            "torchrun's world has GROUP_WORLD_SIZE=3 agents, and Slurm started 2 tasks");
  const LauncherReading shrunk = ReadLauncher(
      With(With(agents, Torchrun()), {{"GROUP_WORLD_SIZE", "1"}, {"GROUP_RANK", "0"}}));
  EXPECT_THAT(shrunk.contradictions, IsEmpty());
  EXPECT_THAT(shrunk.notes,
              ElementsAre("Slurm started 2 tasks, and torchrun's world has 1 agents"));
}

// The script exports RANK=$SLURM_PROCID before srun: every task then is rank 0.
TEST(ReadLauncher_RankThatSlurmDenies, IsNamed) {
  EXPECT_EQ(Contradictions(With(Slurm(), {{"RANK", "0"}, {"WORLD_SIZE", "4"}})),
            "the environment says rank 0 of 4, Slurm says rank 3 of 4");
  const LauncherFacts same = Facts(With(Slurm(), {{"RANK", "3"}, {"WORLD_SIZE", "4"}}));
  EXPECT_EQ(same.local_rank, 0);
  EXPECT_EQ(same.local_world_size, 1);
}

// DeepSpeed's launcher as a Slurm task a node.
TEST(ReadLauncher_RanksSpawnedByATaskANode, AreNoContradiction) {
  const Environment tasks = With(Slurm(), {{"SLURM_PROCID", "1"},
                                           {"SLURM_NTASKS", "2"},
                                           {"SLURM_STEP_NUM_TASKS", "2"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  EXPECT_EQ(Facts(With(tasks, {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}})).rank, 9);
  EXPECT_THAT(
      Contradictions(With(tasks, {{"RANK", "3"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "3"}})),
      HasSubstr("rank 3 of 16, Slurm says rank 1 of 2"));
}

TEST(ReadLauncher_MpirunInSlurm, BelievesMpi) {
  const LauncherFacts facts = Facts(With(Slurm(), OpenMpi()));
  EXPECT_EQ(DialectName(facts), "Open MPI in Slurm");
  EXPECT_EQ(facts.rank, 1);
  EXPECT_EQ(facts.local_rank, 1);
  EXPECT_EQ(facts.run_id, "slurm-77");
}

// As seen on the second node of a job of four tasks a node: the step is that of Hydra's two
// daemons, and what is not the step's was handed on from the batch script on the first node.
TEST(ReadLauncher_HydraInSlurm, BelievesMpi) {
  const LauncherFacts facts = Facts({{"PMI_RANK", "6"},
                                     {"PMI_SIZE", "8"},
                                     {"MPI_LOCALRANKID", "2"},
                                     {"MPI_LOCALNRANKS", "4"},
                                     {"SLURM_JOB_ID", "77"},
                                     {"SLURM_PROCID", "1"},
                                     {"SLURM_LOCALID", "0"},
                                     {"SLURM_NODEID", "1"},
                                     {"SLURM_NTASKS", "8"},
                                     {"SLURM_NTASKS_PER_NODE", "4"},
                                     {"SLURM_NNODES", "2"},
                                     {"SLURM_STEP_NODELIST", "n[1-2]"},
                                     {"SLURM_STEP_NUM_NODES", "2"},
                                     {"SLURM_STEP_NUM_TASKS", "2"},
                                     {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                     {"SLURMD_NODENAME", "n1"}});
  EXPECT_EQ(DialectName(facts), "MPICH in Slurm");
  EXPECT_EQ(Place(facts), "6 of 8, 2 of 4 on node ? of 2");
  EXPECT_EQ(facts.node_name, "n2");
  EXPECT_EQ(facts.run_id, "slurm-77");
}

TEST(ReadLauncher_SrunsOwnPmi, HasToAgreeWithSlurm) {
  EXPECT_EQ(Facts(With(Slurm(), {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}})).local_rank, 0);
  EXPECT_EQ(Contradictions(With(Slurm(), {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}})),
            "MPICH says rank 0 of 4, Slurm says rank 3 of 4");
}

TEST(ReadLauncher_TwoMpis, AreNamed) {
  EXPECT_EQ(Contradictions(With(OpenMpi(), {{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}})),
            "OMPI_COMM_WORLD_RANK=1 and PMI_RANK=0 disagree: one MPI launcher has started the "
            "other");
  EXPECT_EQ(Contradictions(With(OpenMpi(), {{"PMIX_RANK", "2"}})),
            "OMPI_COMM_WORLD_RANK=1 and PMIX_RANK=2 disagree");
}

TEST(ReadLauncher_SlurmAgainstItself, NamesBothVariables) {
  const struct {
    Environment change;
    const char* expected;
  } cases[] = {
      {{{"SLURM_NTASKS_PER_NODE", "8"}}, "SLURM_NTASKS=4 is less than SLURM_NTASKS_PER_NODE=8"},
      {{{"SLURM_PROCID", "4"}}, "SLURM_PROCID=4 is not below SLURM_NTASKS=4"},
      {{{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}, {"SLURM_STEP_NUM_TASKS", "3"}},
       "SLURM_STEP_TASKS_PER_NODE=2(x2) adds up to 4 tasks, and SLURM_NTASKS=3"},
      {{{"SLURM_STEP_TASKS_PER_NODE", "4"}}, "is for 1 nodes, and the number of nodes is 2"},
      {{{"SLURM_STEP_NODELIST", "n[1-3]"}}, "names 3 nodes, and the number of nodes is 2"},
      {{{"SLURM_STEP_NODELIST", "n[1-"}}, "SLURM_STEP_NODELIST: host list 'n[1-'"},
      {{{"SLURMD_NODENAME", "n2"}}, "SLURM_NODEID=1 is n3 in SLURM_STEP_NODELIST"},
      {{{"SLURM_LOCALID", "1"}}, "SLURM_LOCALID=1 is not below SLURM_STEP_TASKS_PER_NODE=1"},
      {{{"SLURM_NODEID", "x"}}, "SLURM_NODEID='x'"},
  };
  for (const auto& [change, expected] : cases) {
    EXPECT_THAT(Contradictions(With(Slurm(), change)), HasSubstr(expected));
  }
}

TEST(ReadLauncher_TorchrunAgainstItself, NamesBothVariables) {
  EXPECT_THAT(Contradictions(With(Torchrun(), {{"RANK", "4"}})),
              HasSubstr("RANK=4 is not below WORLD_SIZE=4"));
  EXPECT_THAT(Contradictions(With(Torchrun(), {{"LOCAL_WORLD_SIZE", "8"}})),
              HasSubstr("LOCAL_WORLD_SIZE=8 is more than WORLD_SIZE=4"));
  EXPECT_THAT(Contradictions(With(Torchrun(), {{"WORLD_SIZE", "-1"}})),
              HasSubstr("WORLD_SIZE='-1'"));
}

TEST(CheckReading_Contradictions, AreAllListed) {
  const absl::Status status =
      CheckReading(ReadLauncher(With(Torchrun(), {{"RANK", "4"}, {"GROUP_RANK", "2"}})));
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(torchrun):\n  RANK=4 is not below WORLD_SIZE=4\n  GROUP_RANK=2 is not "
                        "below GROUP_WORLD_SIZE=2\nSet or unset them"));
}

}  // namespace
}  // namespace autobatch
