#include "orchestrator/service/agent_flags.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "orchestrator/dialect/run_id.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<AgentFlags> Parse(std::vector<std::string> arguments,
                                 const LauncherFacts& launcher = {}) {
  return ParseAgentFlags(arguments, launcher);
}

TEST(AgentFlagsTest, Defaults_AreThoseOfTheDesign) {
  const auto flags = Parse({"--run-id", "job7", "--secret-file", "/s", "--coordinator", "n1"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->config.join_timeout, absl::Seconds(600));
  EXPECT_EQ(flags->config.lost_timeout, absl::Seconds(7));
  EXPECT_EQ(flags->connect_timeout, absl::Seconds(10));
  EXPECT_EQ(flags->verify, VerifyPolicy::kFirst);
  EXPECT_TRUE(flags->nccl);
  EXPECT_FALSE(flags->config.hello.agent.empty());
  ASSERT_EQ(flags->coordinator.size(), 1u);
  EXPECT_EQ(flags->coordinator[0].host, "n1");
  EXPECT_EQ(flags->coordinator[0].port, PortOfRun("job7"));
  EXPECT_EQ(flags->record_path(), DefaultAgentDirectory("job7") + "/record.json");
  EXPECT_EQ(flags->workers.path, DefaultAgentDirectory("job7") + "/agent.sock");
}

TEST(AgentFlagsTest, FlagsOfTheProbe_AreTheProbes) {
  const auto flags = Parse({"--workload",
                            "gpt2",
                            "--run-id",
                            "j",
                            "--optimizer=adamw",
                            "--secret-file",
                            "/s",
                            "--max-batch",
                            "64",
                            "--coordinator",
                            "[fd00::3]:29400,n2:7",
                            "--verify",
                            "always",
                            "--config",
                            "data=imagenet",
                            "--config",
                            "aug=a=b",
                            "--socket-mode",
                            "666",
                            "--no-cache"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->probe.workload.name, "gpt2");
  EXPECT_EQ(flags->probe.workload.optimizer, OptimizerKind::kAdamw);
  EXPECT_EQ(flags->probe.max_batch, 64);
  EXPECT_FALSE(flags->probe.use_cache);
  EXPECT_EQ(flags->verify, VerifyPolicy::kAlways);
  EXPECT_THAT(flags->coordinator, ElementsAre(HostPort{"fd00::3", 29400}, HostPort{"n2", 7}));
  ASSERT_EQ(flags->settings.size(), 2u);
  EXPECT_EQ(flags->settings[1].name, "user.aug");
  EXPECT_EQ(flags->settings[1].value, "a=b");
  EXPECT_EQ(flags->workers.mode, mode_t{0666});
}

TEST(AgentFlagsTest, CommandBehindDashes_IsWhatIsProbed) {
  const auto flags = Parse({"--run-id", "j", "--secret-file", "/s", "--coordinator", "n1", "--",
                            "python", "train.py", "--run-id", "{batch}"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->probe.workload.kind, WorkloadKind::kCommand);
  EXPECT_THAT(flags->probe.workload.command,
              ElementsAre("python", "train.py", "--run-id", "{batch}"));
  EXPECT_EQ(flags->config.hello.run_id, "j");
}

TEST(AgentFlagsTest, WhatTheLauncherSays_NeedNotBeSaidAgain) {
  LauncherFacts facts;
  facts.dialect = Dialect::kSlurm;
  facts.run_id = "42";
  facts.node_name = "n2";
  facts.node_rank = 1;
  facts.node_count = 3;
  facts.nodes = {"n1", "n2", "n3"};
  const auto flags = Parse({"--secret-file", "/s"}, facts);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->config.hello.run_id, "42");
  EXPECT_EQ(flags->config.hello.agent, "n2");
  EXPECT_EQ(flags->config.hello.node_rank, 1);
  ASSERT_EQ(flags->coordinator.size(), 1u);
  EXPECT_EQ(flags->coordinator[0].host, "n1");
}

TEST(AgentFlagsTest, NobodySaysWhereTheCoordinatorIs_IsLeftToTheHost) {
  LauncherFacts facts;
  facts.node_count = 3;
  const auto flags = Parse({"--run-id", "j", "--secret-file", "/s"}, facts);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_THAT(flags->coordinator, IsEmpty());
}

TEST(AgentFlagsTest, WrongUsage_IsNamed) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case cases[] = {
      {{"--jion-timeout", "3s"}, "--join-timeout"},
      {{"--worklaod", "gpt2"}, "--workload"},
      {{"--workload", "gtp2"}, "gpt2"},
      {{"--format", "env"}, "--format"},
      {{"--verify", "sometimes"}, "--verify"},
      {{"--config", "data"}, "NAME=VALUE"},
      {{"--coordinator", "n1:port"}, "--coordinator"},
      {{"--socket-mode", "rw"}, "--socket-mode"},
      {{"train.py"}, "follows '--'"},
      {{"--node-rank", "first"}, "--node-rank"},
  };
  for (const Case& bad : cases) {
    std::vector<std::string> arguments = {"--run-id", "j", "--secret-file", "/s"};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    const auto flags = Parse(arguments);
    ASSERT_FALSE(flags.ok()) << testing::PrintToString(bad.arguments);
    EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr(bad.says));
  }
  EXPECT_THAT(std::string(Parse({"--run-id", "j"}).status().message()), HasSubstr("--secret-file"));
}

TEST(AgentFlagsTest, Help_HasTheProbesFlagsToo) {
  const auto flags = Parse({"--help"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  for (const char* part : {"--coordinator", "--verify", "--workload", "--max-batch", "128 + n"}) {
    EXPECT_THAT(flags->print_and_exit, HasSubstr(part));
  }
}

}  // namespace
}  // namespace autobatch
