#include "tools/plan_options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<PlanOptions> Parse(const std::vector<std::string>& arguments) {
  return ParsePlanOptions(arguments);
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  return std::string(Parse(arguments).status().message());
}

TEST(PlanOptions, EveryOption_IsRead) {
  const absl::StatusOr<PlanOptions> options = Parse({"--batch",
                                                     "77",
                                                     "--world-size",
                                                     "8",
                                                     "--min-world-size",
                                                     "2",
                                                     "--max-world-size=16",
                                                     "--rule",
                                                     "band",
                                                     "--global-batch",
                                                     "512",
                                                     "--band",
                                                     "2.5",
                                                     "--model-parallel-size",
                                                     "2",
                                                     "--sharded",
                                                     "--dataset-size",
                                                     "10000",
                                                     "--drop-last",
                                                     "--samples-seen",
                                                     "300",
                                                     "--lr-rule",
                                                     "sqrt",
                                                     "--reference-batch",
                                                     "256",
                                                     "--json",
                                                     "-",
                                                     "--deepspeed",
                                                     "/config.json"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->batch, 77);
  EXPECT_EQ(options->world_size, 8);
  EXPECT_EQ(options->min_world_size, 2);
  EXPECT_EQ(options->max_world_size, 16);
  EXPECT_EQ(options->request.rule, GlobalBatchRule::kBand);
  EXPECT_EQ(options->request.global_batch, 512);
  EXPECT_EQ(options->request.band_percent, 2.5);
  EXPECT_EQ(options->request.model_parallel_size, 2);
  EXPECT_TRUE(options->has_model_parallel);
  EXPECT_TRUE(options->request.sharded);
  EXPECT_EQ(options->request.dataset_size, 10000);
  EXPECT_TRUE(options->request.drop_last);
  EXPECT_EQ(options->samples_seen, 300);
  EXPECT_EQ(options->request.learning_rate, LearningRateRule::kSqrt);
  EXPECT_EQ(options->request.reference_batch, 256);
  EXPECT_EQ(options->json_path, "-");
  EXPECT_EQ(options->deepspeed_path, "/config.json");
}

TEST(PlanOptions, Rule_FollowsFromWhatIsGiven) {
  EXPECT_EQ(Parse({"--batch", "8", "--world-size", "2"})->request.rule, GlobalBatchRule::kLargest);
  EXPECT_EQ(Parse({"--batch", "8", "--world-size", "2", "--global-batch", "9"})->request.rule,
            GlobalBatchRule::kExact);
  EXPECT_EQ(Parse({"--batch", "8", "--world-size", "2", "--global-batch", "9", "--band", "5"})
                ->request.rule,
            GlobalBatchRule::kBand);
  EXPECT_EQ(Parse({"--batch", "8", "--world-size", "2", "--rule", "largest", "--accumulation", "3"})
                ->request.accumulation,
            3);
}

TEST(PlanOptions, SharesAndReports_SayTheWorldSize) {
  EXPECT_THAT(Parse({"--shares", "64,64,32"})->shares, ElementsAre(64, 64, 32));
  const absl::StatusOr<PlanOptions> options =
      Parse({"--report", "/a.json", "--report", "/b.json", "--per-device"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->reports, ElementsAre("/a.json", "/b.json"));
  EXPECT_TRUE(options->per_device);
}

TEST(PlanOptions, WhatIsWrong_IsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "what can the devices take?"},
      {{"--batch", "8"}, "--world-size N is needed"},
      {{"--batch", "x", "--world-size", "2"}, "--batch: 'x' is not a whole number from 1 up"},
      {{"--batch", "0", "--world-size", "2"}, "--batch: '0' is not a whole number from 1 up"},
      {{"--batch", "8", "--shares", "8", "--world-size", "1"}, "contradict"},
      {{"--shares", "8,"}, "--shares: '' is not a whole number"},
      {{"--shares", "8,0"}, "--shares: 0: a share is at least 1"},
      {{"--batch", "8", "--world-size", "2", "--per-device"}, "--per-device needs --report"},
      {{"--batch", "8", "--world-size", "2", "--rule", "exacty"}, "did you mean 'exact'?"},
      {{"--batch", "8", "--world-size", "2", "--band", "much"}, "--band: 'much' is not a number"},
      {{"--batch", "8", "--world-size", "2", "--samples-seen", "5"}, "needs --dataset-size"},
      {{"--batches", "8"}, "did you mean '--batch'?"},
      {{"77"}, "an argument stands without its option"},
  };
  for (const auto& [arguments, says] : cases) EXPECT_THAT(ErrorOf(arguments), HasSubstr(says));
}

TEST(PlanOptions, HelpAndVersion_NeedNothingElse) {
  EXPECT_THAT(Parse({"--help"})->print_and_exit, HasSubstr("Exit status:"));
  EXPECT_THAT(Parse({"--version"})->print_and_exit, HasSubstr("autobatch "));
}

}  // namespace
}  // namespace autobatch
