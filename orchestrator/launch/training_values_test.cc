#include "orchestrator/launch/training_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Record SomeRecord() {
  Record record;
  record.run_id = "job1";
  record.round = 3;
  record.digest = "abc";
  return record;
}

std::map<std::string, std::string> Map(const TrainingValues& values) {
  std::map<std::string, std::string> map;
  for (const WorkerVariable& variable : values.variables) map[variable.name] = variable.value;
  return map;
}

TEST(ValuesOfWorld_OfARow, HaveNoVariableOfOneRank) {
  const PlanRow row{.world_size = 4,
                    .processes = 8,
                    .global_batch = 512,
                    .micro_batch = 64,
                    .accumulation = 2,
                    .lr_factor = 0.1,
                    .steps_per_epoch = 10};
  const TrainingValues values = ValuesOfWorld(SomeRecord(), "/run/record.json", row);
  EXPECT_EQ(values.micro_batch, 64);
  const std::map<std::string, std::string> expected = {{"AUTOBATCH_ROUND", "3"},
                                                       {"AUTOBATCH_RUN_ID", "job1"},
                                                       {"AUTOBATCH_RECORD", "/run/record.json"},
                                                       {"AUTOBATCH_DIGEST", "abc"},
                                                       {"AUTOBATCH_MICRO_BATCH", "64"},
                                                       {"AUTOBATCH_ACCUMULATION", "2"},
                                                       {"AUTOBATCH_GLOBAL_BATCH", "512"},
                                                       {"AUTOBATCH_LR_FACTOR", "0.1"},
                                                       {"AUTOBATCH_WORLD_SIZE", "8"},
                                                       {"AUTOBATCH_STEPS_PER_EPOCH", "10"}};
  EXPECT_EQ(Map(values), expected);
  EXPECT_THAT(FillTraining(std::vector<std::string>{"t.py", "--b={micro_batch}x{accumulation}",
                                                    "{global_batch}", "{batch}", "{{batch}}"},
                           values),
              ElementsAre("t.py", "--b=64x2", "512", "64", "{batch}"));
}

TEST(ValuesOfRun_OfAChangingWorld, SayOnlyWhichRecord) {
  Record record = SomeRecord();
  record.fallback = true;
  record.simulated = true;
  const std::map<std::string, std::string> expected = {
      {"AUTOBATCH_ROUND", "3"},    {"AUTOBATCH_RUN_ID", "job1"}, {"AUTOBATCH_RECORD", "r"},
      {"AUTOBATCH_DIGEST", "abc"}, {"AUTOBATCH_FALLBACK", "1"},  {"AUTOBATCH_SIMULATED", "1"}};
  EXPECT_EQ(Map(ValuesOfRun(record, "r")), expected);
}

TEST(CheckTrainingPlaceholders_OfAProbe, AreRefused) {
  const auto check = [](std::vector<std::string> command) {
    return std::string(CheckTrainingPlaceholders(command).message());
  };
  EXPECT_THAT(check({"t", "{micro_batch}", "{accumulation}", "{global_batch}", "{batch}", "${x}"}),
              IsEmpty());
  EXPECT_THAT(check({"t", "--steps={steps}"}), HasSubstr("{steps} has a value in a probe only"));
  EXPECT_THAT(check({"t", "{device}"}), HasSubstr("{device}"));
  EXPECT_THAT(check({"t", "{micro_bach}"}), HasSubstr("did you mean '{micro_batch}'"));
}

TEST(FillTraining_WorkersOwnLaunch, FillsItsPartItself) {
  const std::vector<std::string> command = {"torchrun",   "--x={batch}", "--no-python",
                                            "bin/launch", "-q",          "--worker",
                                            "--",         "t",           "{micro_batch}"};
  EXPECT_EQ(OuterWords(command).size(), 3u);
  const std::vector<std::string> filled = FillTraining(command, {.micro_batch = 7});
  EXPECT_EQ(filled[1], "--x=7");
  EXPECT_EQ(filled.back(), "{micro_batch}");
  EXPECT_EQ(filled.size(), command.size());
  const std::vector<std::string> others = {"launch", "--", "t", "--worker", "{batch}"};
  EXPECT_EQ(OuterWords(others).size(), others.size());
}

TEST(WorldDependent_Placeholders, AreNamed) {
  EXPECT_THAT(WorldDependent(std::vector<std::string>{"t", "{batch}", "{global_batch}"}),
              ElementsAre("{micro_batch}", "{global_batch}"));
  EXPECT_THAT(WorldDependent(std::vector<std::string>{"t", "{{batch}}", "64"}), IsEmpty());
}

}  // namespace
}  // namespace autobatch
