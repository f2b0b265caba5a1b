#include "autobatch/types/launched_ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace autobatch {
namespace {

TEST(FindLaunchedRanksTest, EachLauncher_SaysItInItsOwnWords) {
  const struct {
    std::vector<std::string> command;
    int64_t ranks;
    const char* words;
  } cases[] = {
      {{"torchrun", "--nproc-per-node=2", "train.py"}, 2, "torchrun --nproc-per-node=2"},
      {{"python3", "-m", "torch.distributed.run", "--nproc_per_node", "4", "--nnodes=2", "t.py"},
       8,
       "torch.distributed.run --nproc_per_node 4 --nnodes=2"},
      {{"/opt/bin/accelerate", "launch", "--num_processes", "3", "t.py"},
       3,
       "accelerate --num_processes 3"},
      {{"deepspeed", "--num_gpus=4", "t.py"}, 4, "deepspeed --num_gpus=4"},
      {{"mpirun", "--bind-to", "none", "-np", "6", "python", "t.py"}, 6, "mpirun -np 6"},
      {{"env", "A=b", "srun", "--ntasks=5", "python", "t.py"}, 5, "srun --ntasks=5"},
      {{"horovodrun", "-np", "2", "python", "t.py"}, 2, "horovodrun -np 2"},
  };
  for (const auto& c : cases) {
    const std::optional<LaunchedRanks> found = FindLaunchedRanks(c.command);
    ASSERT_TRUE(found.has_value()) << c.words;
    EXPECT_EQ(found->ranks, c.ranks) << c.words;
    EXPECT_EQ(found->words, c.words);
  }
}

TEST(FindLaunchedRanksTest, NoNumber_IsNoAnswer) {
  const std::vector<std::string> cases[] = {
      {},
      {"python", "train.py", "--nproc-per-node=2"},
      {"torchrun", "train.py", "--nproc-per-node=2"},
      {"torchrun", "--nproc-per-node=gpu", "train.py"},
      {"torchrun", "--nproc-per-node", "0", "train.py"},
      {"torchrun", "--nproc-per-node"},
      {"torchrun", "--nproc-per-node=9223372036854775807", "--nnodes=2", "train.py"},
  };
  for (const std::vector<std::string>& command : cases) {
    EXPECT_FALSE(FindLaunchedRanks(command).has_value()) << command.size();
  }
}

TEST(FindLaunchedRanksTest, ElasticNumberOfNodes_CountsOne) {
  EXPECT_EQ(FindLaunchedRanks(
                std::vector<std::string>{"torchrun", "--nnodes=1:4", "--nproc-per-node=2", "t.py"})
                ->ranks,
            2);
}

}  // namespace
}  // namespace autobatch
