#include "orchestrator/service/coordinator_flags.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/dialect/run_id.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CoordinatorFlags> Parse(std::vector<std::string> arguments,
                                       const LauncherFacts& launcher = {}) {
  return ParseCoordinatorFlags(arguments, launcher);
}

TEST(CoordinatorFlagsTest, Defaults_AreThoseOfTheDesign) {
  const auto flags = Parse({"--run-id", "job7", "--secret-file", "/s"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->config.run_id, "job7");
  EXPECT_EQ(flags->config.join_timeout, absl::Seconds(600));
  EXPECT_EQ(flags->config.last_call, absl::Seconds(5));
  EXPECT_EQ(flags->config.heartbeat, absl::Seconds(1));
  EXPECT_EQ(flags->config.lost_after, 5);
  EXPECT_EQ(flags->config.commit_timeout, absl::Seconds(10));
  EXPECT_EQ(flags->handshake_timeout, absl::Seconds(10));
  EXPECT_EQ(flags->config.reduce, ReduceMode::kOff);
  EXPECT_EQ(flags->ports.first, PortOfRun("job7"));
}

TEST(CoordinatorFlagsTest, EveryFlag_IsRead) {
  const auto flags = Parse({"--run-id",
                            "job7",
                            "--secret-fd",
                            "5",
                            "--min-nodes",
                            "2",
                            "--max-nodes",
                            "4",
                            "--expect",
                            "n1,n2",
                            "--nccl",
                            "require",
                            "--failed-device",
                            "exclude",
                            "--once",
                            "--join-timeout",
                            "1m",
                            "--last-call",
                            "0s",
                            "--heartbeat",
                            "200ms",
                            "--lost-after",
                            "7",
                            "--reconnect-grace",
                            "2",
                            "--report-timeout",
                            "2h",
                            "--reduce-timeout",
                            "9",
                            "--reduce-attempts",
                            "3",
                            "--commit-timeout",
                            "3s",
                            "--bind",
                            "10.0.0.3",
                            "--port",
                            "29400-29410",
                            "--advertise-address",
                            "[fd00::3]:7000",
                            "--rule",
                            "exact",
                            "--global-batch",
                            "512",
                            "--max-ranks",
                            "16",
                            "--shares",
                            "device",
                            "--lr-rule",
                            "sqrt",
                            "--reference-batch",
                            "256",
                            "--json",
                            "-",
                            "--record",
                            testing::TempDir() + "/r.json"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->credentials.secret_descriptor, 5);
  EXPECT_EQ(flags->config.max_nodes, 4);
  EXPECT_THAT(flags->config.expected, ElementsAre("n1", "n2"));
  EXPECT_EQ(flags->config.reduce, ReduceMode::kRequire);
  EXPECT_EQ(flags->config.failed_device, FailedDevicePolicy::kExclude);
  EXPECT_TRUE(flags->config.once);
  EXPECT_EQ(flags->config.heartbeat, absl::Milliseconds(200));
  EXPECT_EQ(flags->config.reduce_timeout, absl::Seconds(9));
  EXPECT_EQ(flags->ports.last, 29410);
  EXPECT_EQ(flags->advertise_address, (HostPort{.host = "fd00::3", .port = 7000}));
  EXPECT_EQ(flags->plan.request.global_batch, 512);
  EXPECT_EQ(flags->plan.request.max_world_size, 16);
  EXPECT_EQ(flags->plan.shares, SharesRule::kDevice);
  EXPECT_EQ(flags->json_path, "-");
}

TEST(CoordinatorFlagsTest, WhatIsGiven_SaysWhichRuleIsMeant) {
  const auto rule = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--run-id", "j", "--secret-file", "/s"});
    const auto flags = Parse(std::move(arguments));
    EXPECT_TRUE(flags.ok()) << flags.status();
    return flags->plan.request.rule;
  };
  EXPECT_EQ(rule({}), GlobalBatchRule::kLargest);
  EXPECT_EQ(rule({"--global-batch", "512"}), GlobalBatchRule::kExact);
  EXPECT_EQ(rule({"--global-batch", "512", "--band", "5"}), GlobalBatchRule::kBand);
}

TEST(CoordinatorFlagsTest, RunIdOfTheLauncher_IsTaken) {
  const auto flags = Parse({"--secret-file", "/s"}, {.run_id = "slurm-42"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->config.run_id, "slurm-42");
}

TEST(CoordinatorFlagsTest, WrongUsage_IsNamed) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case cases[] = {
      {{}, "run-id"},
      {{"--run-id", "none", "--secret-file", "/s"}, "none"},
      {{"--run-id", "j"}, "--secret-file"},
      {{"--run-id", "j", "--secret-file", "/s", "--secret-fd", "3"}, "contradict"},
      {{"--run-id", "j", "--tls-ca", "/ca"}, "--tls-certificate"},
      {{"--run-id", "j", "--secret-file", "/s", "--jion-timeout", "3s"}, "--join-timeout"},
      {{"--run-id", "j", "--secret-file", "/s", "--join-timeout", "soon"}, "90s"},
      {{"--run-id", "j", "--secret-file", "/s", "--min-nodes", "3", "--max-nodes", "2"},
       "--max-nodes"},
      {{"--run-id", "j", "--secret-file", "/s", "--min-nodes", "0"}, "--min-nodes"},
      {{"--run-id", "j", "--secret-file", "/s", "--port", "70000"}, "--port"},
      {{"--run-id", "j", "--secret-file", "/s", "--advertise-address", "localhost"},
       "--advertise-address: the advertised address localhost is this host itself"},
      {{"--run-id", "j", "--secret-file", "/s", "--nccl", "perhaps"}, "--nccl"},
      {{"--run-id", "j", "--secret-file", "/s", "--rule", "exact"}, "global"},
      {{"--run-id", "j", "--secret-file", "/s", "train.py"}, "options only"},
      {{"--run-id", "j", "--secret-file", "/s", "--samples", "9"},
       "'--samples' is called '--dataset-size'"},
      {{"--run-id", "j", "--secret-file", "/s", "--handshake-timeout", "0"}, "--handshake-timeout"},
  };
  for (const Case& bad : cases) {
    const auto flags = Parse(bad.arguments);
    ASSERT_FALSE(flags.ok()) << testing::PrintToString(bad.arguments);
    EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr(bad.says));
  }
}

TEST(CoordinatorFlagsTest, Help_HasEveryGroup) {
  const auto flags = Parse({"--help"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  for (const char* part : {"--secret-file", "--rule", "--last-call", "--state-dir", "128 + n"}) {
    EXPECT_THAT(flags->print_and_exit, HasSubstr(part));
  }
}

TEST(CoordinatorFlagsTest, WishesThatContradict_AreNamedByTheFlagsThatWereTyped) {
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } cases[] = {
      {{"--rule", "band", "--global-batch", "512"}, "--band: the rule band needs it"},
      {{"--global-batch", "512", "--band", "51"}, "--band 51: above 0 and up to 50"},
      {{"--accumulation", "0"}, "--accumulation 0: from 1"},
      {{"--rule", "exact"}, "--global-batch: the rule exact needs it"},
      {{"--min-ranks", "9", "--max-ranks", "8"}, "--min-ranks 9: is above --max-ranks 8"},
      {{"--drop-last"}, "--drop-last needs --dataset-size: which"},
      {{"--lr-rule", "linear"}, "--lr-rule linear needs --reference-batch: the global batch"},
  };
  for (const auto& [wish, says] : cases) {
    std::vector<std::string> arguments = {"--run-id", "r", "--secret-file", "/s"};
    arguments.insert(arguments.end(), wish.begin(), wish.end());
    EXPECT_THAT(std::string(Parse(arguments).status().message()), HasSubstr(says));
  }
}

// What a successor compares: every wish, by its flag.
TEST(CoordinatorFlagsTest, Options_AreThoseThatARecordFollowsFrom) {
  const auto flags = Parse({"--run-id", "r", "--secret-file", "/s", "--global-batch", "512",
                            "--band", "2.5", "--shares", "device", "--failed-device", "exclude"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  std::string text;
  for (const NamedValue& option : flags->config.options) {
    absl::StrAppend(&text, option.name, "=", option.value, " ");
  }
  EXPECT_EQ(text,
            "--rule=band --global-batch=512 --band=2.5 --accumulation=1 --min-ranks= "
            "--max-ranks= --model-parallel-size=1 --sharded=false --dataset-size= "
            "--drop-last=false --lr-rule=none --reference-batch= --shares=device "
            "--failed-device=exclude --nccl=off ");
}

}  // namespace
}  // namespace autobatch
