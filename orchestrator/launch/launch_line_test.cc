#include "orchestrator/launch/launch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<LaunchLine> Parse(absl::string_view text, const Environment& environment = {}) {
  return ParseLaunchLine(std::vector<std::string>(absl::StrSplit(text, ' ', absl::SkipEmpty())),
                         environment);
}

LaunchLine Line(absl::string_view text, const Environment& environment = {}) {
  const auto line = Parse(text, environment);
  EXPECT_TRUE(line.ok()) << text << ": " << line.status();
  return line.value_or(LaunchLine());
}

std::string Error(absl::string_view text, const Environment& environment = {}) {
  const auto line = Parse(text, environment);
  EXPECT_TRUE(absl::IsInvalidArgument(line.status())) << text;
  return std::string(line.status().message());
}

TEST(ParseLaunchLine_CommandOnly, AgreesHere) {
  const LaunchLine line = Line(
      "--workload gpt2 --rule exact --device cuda -q --global-batch=64 --max-nodes 2 "
      "--coordinator n1:5 --port 7 -- torchrun t.py --socket x -- --batch {micro_batch}");
  EXPECT_THAT(line.command,
              ElementsAre("torchrun", "t.py", "--socket", "x", "--", "--batch", "{micro_batch}"));
  EXPECT_EQ(line.socket, "");
  EXPECT_EQ(line.record, "");
  EXPECT_TRUE(line.quiet);
  EXPECT_TRUE(AgreesHere(line));
  EXPECT_THAT(line.agent_arguments, ElementsAre("--workload", "gpt2", "--device", "cuda"));
  EXPECT_THAT(line.coordinator_arguments, ElementsAre("--port", "7"));
  EXPECT_THAT(line.plan_arguments, ElementsAre("--rule", "exact", "--global-batch=64"));
  EXPECT_EQ(line.max_nodes, 2);
  EXPECT_EQ(line.coordinator, "n1:5");
}

TEST(ParseLaunchLine_WhatTrialsAndPlanBothHaveToKnow, IsHandedToBoth) {
  const LaunchLine here = Line("--dataset-size 9 --accumulation=2 --drop-last -- true");
  EXPECT_THAT(here.agent_arguments, ElementsAre("--dataset-size", "9", "--accumulation=2"));
  EXPECT_THAT(here.plan_arguments,
              ElementsAre("--dataset-size", "9", "--accumulation=2", "--drop-last"));
  const LaunchLine there = Line("--coordinator n1 --dataset-size 9 -- true");
  EXPECT_THAT(there.agent_arguments, ElementsAre("--dataset-size", "9"));
  EXPECT_THAT(there.plan_arguments, ElementsAre());
}

TEST(ParseLaunchLine_EveryOption, IsRead) {
  const LaunchLine line = Line(
      "--record /r.json --run-id job1 --secret-file /s --wait 90 --world-size 8 --allow-simulated "
      "--fallback-batch 16 --when-world-changes restart --grace 2m -- true");
  EXPECT_EQ(line.record, "/r.json");
  EXPECT_EQ(line.run_id, "job1");
  EXPECT_EQ(line.secret_file, "/s");
  EXPECT_EQ(line.wait, absl::Seconds(90));
  EXPECT_EQ(line.world_size, 8);
  EXPECT_TRUE(line.allow_simulated);
  EXPECT_EQ(line.fallback_batch, 16);
  EXPECT_EQ(line.when_world_changes, WorldChange::kRestart);
  EXPECT_EQ(line.grace, absl::Minutes(2));
  EXPECT_EQ(Line("--record /r --secret-fd 7 -- true").secret_descriptor, 7);
}

TEST(ParseLaunchLine_Worker, TakesItsSourceFromTheEnvironment) {
  const Environment both = {{"AUTOBATCH_SOCKET", "/agent.sock"},
                            {"AUTOBATCH_RECORD", "/r.json"},
                            {"AUTOBATCH_RUN_ID", "job1"}};
  EXPECT_EQ(Line("--worker -- true", both).socket, "/agent.sock");
  EXPECT_EQ(Line("--worker -- true", both).record, "");
  EXPECT_EQ(Line("--worker -- true", both).run_id, "job1");
  EXPECT_EQ(Line("--worker --record /x -- true", both).socket, "");
  EXPECT_EQ(Line("--worker -- true", {{"AUTOBATCH_RECORD", "/r.json"}}).record, "/r.json");
  // A command that starts all ranks agrees anew, whatever an outer job has exported.
  EXPECT_EQ(Line("-- true", both).socket, "");
  EXPECT_EQ(Line("--socket /mine -- true", both).socket, "/mine");
  EXPECT_TRUE(AgreesHere(Line("--socket /mine -- true", both)));
  EXPECT_THAT(Error("--worker -- true"), HasSubstr("give --socket PATH"));
}

TEST(ParseLaunchLine_Outputs, TakeNoCommand) {
  EXPECT_EQ(Line("--worker --socket /s --format slurm-task-prolog").format,
            LaunchFormat::kSlurmTaskProlog);
  EXPECT_EQ(Line("--record /r --format json").format, LaunchFormat::kJson);
  EXPECT_EQ(Line("--publish /shared").publish, "/shared");
  EXPECT_THAT(Error("--format json -- true"), HasSubstr("--format and a command contradict"));
  EXPECT_THAT(Error("--record /r --format slurm-task-prolog"), HasSubstr("give --worker too"));
  EXPECT_THAT(Error("--publish /x --format env"), HasSubstr("contradict"));
  EXPECT_THAT(Error("--worker --record /r --publish /x"), HasSubstr("contradict"));
  EXPECT_THAT(Error("--record /r --format yaml"), HasSubstr("slurm-task-prolog"));
}

TEST(ParseLaunchLine_WrongValues, SayWhatIsRight) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"", "no command follows '--'"},
      {"--", "no command follows '--'"},
      {"--record /r --wait soon -- true", "--wait: 'soon' is not a time"},
      {"--record /r --world-size 0 -- true", "--world-size: '0' is not a whole number from 1 up"},
      {"--record /r --fallback-batch -1 -- true", "--fallback-batch"},
      {"--record /r --fallback-batch=0 -- true", "from 1 up"},
      {"--record /r --fallback-batch 4611686018427387904 -- true", "largest batch of a rank"},
      {"--record /r --run-id none -- true", "two jobs that have it would join each other"},
      {"--record /r --socket /s -- true", "--socket and --record contradict"},
      {"--record /r --device cpu -- true", "--device and --record contradict"},
      {"--record /r --rule exact -- true", "--rule and --record contradict"},
      {"--worker --socket /s --max-nodes 2 -- true", "--max-nodes and --worker contradict"},
      {"--host-coordinator --coordinator n1 -- true", "it is here, or it is there"},
      {"--record /r --host-coordinator -- true", "--host-coordinator and --record contradict"},
      {"--min-nodes 3 --max-nodes 2 -- true", "the minimum is above the maximum"},
      {"--worker --record /r --world-size 3 -- true", "--worker and --world-size contradict"},
      {"--record /r --secret-file /a --secret-fd 3 -- true", "there is one secret"},
      {"--record /r --allow-simulatd -- true", "did you mean '--allow-simulated'?"},
      {"--record /r train.py -- true", "the command to start follows '--'"},
      {"--record /r -- t {steps}", "{steps} has a value in a probe only"},
      {"--record /r -- t {micro_bach}", "{micro_batch}"},
      {"--record /r --when-world-changes go -- true", "keep"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(Error(text), HasSubstr(expected)) << text;
}

TEST(ParseLaunchLine_ProbeCommand, IsSplitIntoWords) {
  const std::vector<std::string> arguments = {"--probe", "python 'my train.py' {batch}", "--",
                                              "true"};
  EXPECT_THAT(ParseLaunchLine(arguments, {})->probe_command,
              ElementsAre("python", "my train.py", "{batch}"));
}

TEST(ParseLaunchLine_EmptyValue, IsNamed) {
  const auto line = ParseLaunchLine(std::vector<std::string>{"--record", "", "--", "true"}, {});
  EXPECT_THAT(std::string(line.status().message()), HasSubstr("--record is empty"));
}

TEST(ParseLaunchLine_Help, ListsTheAgentsOptionsToo) {
  const std::string help = Line("--help").print_and_exit;
  EXPECT_THAT(help, HasSubstr("--fallback-batch"));
  EXPECT_THAT(help, HasSubstr("--device LIST"));
  EXPECT_THAT(help, HasSubstr("AUTOBATCH_MICRO_BATCH"));
  EXPECT_THAT(Line("--version").print_and_exit, HasSubstr("autobatch "));
}

}  // namespace
}  // namespace autobatch
