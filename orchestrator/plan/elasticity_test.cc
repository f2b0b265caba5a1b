#include "orchestrator/plan/elasticity.h"

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The block with these keys besides what every one needs.
absl::StatusOr<ElasticityConfig> Read(const std::string& keys) {
  return ReadElasticityConfig(boost::json::parse(
      absl::StrCat(R"({"train_batch_size": 1, "elasticity": {"enabled": true, )", keys, "}}")));
}

absl::StatusOr<ElasticBatch> Compute(const std::string& keys, int64_t world_size = 0,
                                     bool want_micro_batch = false) {
  const absl::StatusOr<ElasticityConfig> config = Read(keys);
  if (!config.ok()) return config.status();
  return ComputeElasticBatch(*config, world_size, want_micro_batch);
}

constexpr char kSizes[] = R"("max_train_batch_size": 2000, "micro_batch_sizes": [2, 4, 6])";

// The table of highly composite numbers is right if each answer for micro-batch 1 has more divisors
// than any number before it.
TEST(Elasticity, OneSampleMicroBatch_FindsTheMostDivisibleBatch) {
  size_t most = 0;
  for (int64_t maximum = 2; maximum < 2000; ++maximum) {
    const absl::StatusOr<ElasticBatch> answer = Compute(absl::StrCat(
        R"("version": 0.1, "max_gpus": 10000, "micro_batch_sizes": [1], "max_train_batch_size": )",
        maximum + 1));
    ASSERT_TRUE(answer.ok()) << answer.status();
    size_t divisors = 0;
    for (int64_t i = 1; i <= maximum; ++i) divisors += maximum % i == 0 ? 1 : 0;
    if (divisors <= most) continue;
    most = divisors;
    EXPECT_EQ(answer->global_batch, maximum);
    EXPECT_EQ(answer->valid_gpus.size(), divisors);
  }
}

TEST(Elasticity, GivenWorldSize_GetsTheLargestMicroBatchThatDivides) {
  const std::string keys = absl::StrCat(kSizes, R"(, "version": 0.1)");
  EXPECT_EQ(Compute(keys)->micro_batch, std::nullopt);
  EXPECT_EQ(Compute(keys, 2)->global_batch, 1680);
  EXPECT_EQ(Compute(keys, 2)->micro_batch, 6);
  EXPECT_EQ(Compute(keys, 21)->micro_batch, 4);
  EXPECT_THAT(Compute(keys, 11).status().message(), HasSubstr("world size of 11"));
}

TEST(Elasticity, VersionTwo_CountsDataParallelRanksOfWholeNodes) {
  const std::string keys = absl::StrCat(
      kSizes,
      R"(, "version": 0.2, "max_gpus": 32, "num_gpus_per_node": 8, "model_parallel_size": 2)");
  const absl::StatusOr<ElasticBatch> answer = Compute(keys, 8);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->valid_gpus, ElementsAre(4, 8, 12, 16));
  EXPECT_EQ(answer->global_batch, 1920);
  // Half a node has two ranks, and the world of four that was asked for is not theirs.
  EXPECT_FALSE(Compute(keys, 4).ok());
}

TEST(Elasticity, WorldThatIsNoNumberOfNodes_GetsItsOwnBatch) {
  const std::string keys = R"("max_train_batch_size": 10000, "micro_batch_sizes": [8, 12, 16, 17],
      "min_gpus": 8, "max_gpus": 1500, "num_gpus_per_node": 8)";
  const absl::StatusOr<ElasticBatch> answer = Compute(keys, 4);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->global_batch, 9996);
  EXPECT_THAT(answer->valid_gpus, ElementsAre(4));
  EXPECT_EQ(answer->micro_batch, 17);
}

TEST(Elasticity, MaximumBelowOneNode_IsNoMaximum) {
  const std::string keys = absl::StrCat(kSizes, R"(, "num_gpus_per_node": 8, "max_gpus": 4)");
  const absl::StatusOr<ElasticBatch> answer = Compute(keys, 8);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->global_batch, 1920);
  EXPECT_EQ(answer->valid_gpus.back(), 960);
}

TEST(Elasticity, OfTwoBatchesAsGood_ThePreferredOneIsTaken) {
  const std::string keys = R"("max_train_batch_size": 159, "micro_batch_sizes": [8, 13],
      "version": 0.1, "max_gpus": 8, "prefer_larger_batch": )";
  EXPECT_EQ(Compute(keys + "true")->global_batch, 156);
  EXPECT_EQ(Compute(keys + "false")->global_batch, 96);
  EXPECT_EQ(Compute(keys + "0")->global_batch, 96);
}

TEST(Elasticity, AnswerThatNoJobCanStartWith_IsAnError) {
  const auto error = [](const std::string& keys, int64_t world_size = 0, bool micro = false) {
    return std::string(Compute(keys, world_size, micro).status().message());
  };
  // Nothing.
  EXPECT_THAT(error(R"("max_train_batch_size": 4, "micro_batch_sizes": [4], "version": 0.1,
                       "min_gpus": 3, "max_gpus": 3)"),
              HasSubstr("no number of GPUs from 3 to 3 divides"));
  // More than the maximum.
  EXPECT_THAT(error(R"("max_train_batch_size": 256, "micro_batch_sizes": [19, 32], "version": 0.1,
                       "min_gpus": 8, "max_gpus": 16)"),
              HasSubstr("608, is above max_train_batch_size 256"));
  // 0.
  EXPECT_THAT(error(R"("max_train_batch_size": 8, "micro_batch_sizes": [2])", 16),
              HasSubstr("max_train_batch_size 8 is less than one"));
  // A division by zero.
  EXPECT_THAT(error(absl::StrCat(kSizes, R"(, "version": 0.1)"), 0, true),
              HasSubstr("needs the world size"));
  EXPECT_THAT(error(kSizes), HasSubstr("version 0.2 needs the world size"));
  EXPECT_THAT(error(kSizes, -1), HasSubstr("world size -1"));
  // Numbers beyond all bounds.
  EXPECT_THAT(error(R"("max_train_batch_size": 9e15, "version": 0.1,
                       "micro_batch_sizes": [999983, 999979, 999961, 999959])"),
              HasSubstr("least common multiple"));
  EXPECT_THAT(error(R"("max_train_batch_size": 9007199254740992, "version": 0.1,
                       "max_gpus": 9e15, "micro_batch_sizes": [1, 9007199254740881])"),
              HasSubstr("too large to look for GPU counts"));
}

TEST(Elasticity, Defaults_AreTheOriginals) {
  const absl::StatusOr<ElasticityConfig> config = Read(kSizes);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->version, 0.2);
  EXPECT_EQ(config->min_gpus, 1);
  EXPECT_EQ(config->max_gpus, 10000);
  EXPECT_TRUE(config->prefer_larger_batch);
  EXPECT_EQ(Read(absl::StrCat(kSizes, R"(, "version": "0.1")"))->version, 0.1);
  EXPECT_EQ(Read(absl::StrCat(kSizes, R"(, "max_gpus": 1e3)"))->max_gpus, 1000);
}

TEST(Elasticity, BadBlock_IsNamedByItsKey) {
  const auto error = [](const std::string& keys) {
    return std::string(Read(keys).status().message());
  };
  const auto with = [&](const std::string& key) { return error(absl::StrCat(kSizes, ", ", key)); };
  EXPECT_THAT(error(R"("micro_batch_sizes": [2])"),
              HasSubstr("elasticity.max_train_batch_size is missing"));
  EXPECT_THAT(error(R"("max_train_batch_size": 8)"),
              HasSubstr("elasticity.micro_batch_sizes is missing"));
  for (const char* sizes : {"[]", "2", "null", "[0, 2]", "[-1]", "[2.5]", R"(["2"])", "[[2]]",
                            "[9223372036854775808]"}) {
    EXPECT_THAT(error(absl::StrCat(R"("max_train_batch_size": 8, "micro_batch_sizes": )", sizes)),
                HasSubstr("elasticity.micro_batch_sizes"))
        << sizes;
  }
  for (const char* maximum : {"0", "-5", R"("2000")", "null", "[]", "1e300", "true"}) {
    EXPECT_THAT(
        error(absl::StrCat(R"("micro_batch_sizes": [2], "max_train_batch_size": )", maximum)),
        HasSubstr("elasticity.max_train_batch_size"))
        << maximum;
  }
  EXPECT_THAT(with(R"("min_gpus": 0)"), HasSubstr("elasticity.min_gpus 0"));
  EXPECT_THAT(with(R"("min_gpus": "1")"), HasSubstr("elasticity.min_gpus \"1\""));
  EXPECT_THAT(with(R"("min_gpus": 10, "max_gpus": 5)"), HasSubstr("is above max_gpus 5"));
  EXPECT_THAT(with(R"("num_gpus_per_node": 2.5)"), HasSubstr("expected a whole number"));
  EXPECT_THAT(with(R"("model_parallel_size": 0)"), HasSubstr("elasticity.model_parallel_size 0"));
  EXPECT_THAT(with(R"("version": 0.1, "model_parallel_size": 2)"), HasSubstr("version 0.2 does"));
  EXPECT_THAT(with(R"("version": 0.3)"), HasSubstr("expected 0.1 or 0.2"));
  EXPECT_THAT(with(R"("version": "two")"), HasSubstr("elasticity.version"));
  EXPECT_THAT(with(R"("min_time": -1)"), HasSubstr("elasticity.min_time -1"));
  EXPECT_THAT(with(R"("prefer_larger_batch": "false")"),
              HasSubstr("elasticity.prefer_larger_batch \"false\": expected true or false"));
}

TEST(Elasticity, DisabledOrMissingBlock_IsAnError) {
  const auto error = [](const char* text) {
    return std::string(ReadElasticityConfig(boost::json::parse(text)).status().message());
  };
  EXPECT_THAT(error("{}"), HasSubstr("elasticity is missing"));
  EXPECT_THAT(error("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error(R"({"elasticity": 1})"), HasSubstr("expected an object, found int64"));
  EXPECT_THAT(error(R"({"elasticity": {}})"), HasSubstr("elasticity.enabled"));
  EXPECT_THAT(error(R"({"elasticity": {"enabled": false}})"), HasSubstr("elasticity.enabled"));
  EXPECT_THAT(error(R"({"elasticity": {"enabled": "true"}})"), HasSubstr("elasticity.enabled"));
}

TEST(Elasticity, MicroBatchAboveTheMaximum_IsAnError) {
  EXPECT_THAT(Compute(R"("max_train_batch_size": 6, "micro_batch_sizes": [7], "version": 0.1)")
                  .status()
                  .message(),
              HasSubstr("7 is above the 6 samples"));
  EXPECT_THAT(
      Compute(R"("max_train_batch_size": 6, "micro_batch_sizes": [4], "num_gpus_per_node": 2)", 2)
          .status()
          .message(),
      HasSubstr("4 is above the 3 samples of max_train_batch_size that are left for a node"));
  EXPECT_THAT(
      Compute(absl::StrCat(kSizes, R"(, "num_gpus_per_node": 3, "model_parallel_size": 2)"), 2)
          .status()
          .message(),
      HasSubstr("no multiple of model_parallel_size 2"));
}

}  // namespace
}  // namespace autobatch
