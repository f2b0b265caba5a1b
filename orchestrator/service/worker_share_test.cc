#include "orchestrator/service/worker_share.h"

#include <gmock/gmock.h>

#include <map>

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

PlanRow Row(int64_t world_size, int64_t processes, std::vector<PlanGroup> groups) {
  return {.world_size = world_size,
          .processes = processes,
          .global_batch = 340,
          .micro_batch = 57,
          .accumulation = 2,
          .sample_weight = 3.0 / 340,
          .lr_factor = 0.1,
          .groups = std::move(groups)};
}

// Three ranks: two take 57 and 57, one 57 and 55.
Record RecordOfThree() {
  Record record{.run_id = "job", .round = 4, .minimum_batch = 57, .world_size = 3, .digest = "d4"};
  const PlanGroup first = {.ranks = 2, .steps = {{2, 57}}};
  const PlanGroup last = {.ranks = 1, .steps = {{1, 57}, {1, 55}}};
  record.plan.rows = {Row(3, 3, {first, last})};
  return record;
}

WorkerRequest Request(int64_t rank, int64_t world_size = 3) {
  return {.world_size = world_size, .rank = rank, .local_rank = 0, .local_world_size = 1};
}

std::map<std::string, std::string> Variables(const WorkerShare& share) {
  std::map<std::string, std::string> map;
  for (const WorkerVariable& variable : VariablesOf(share)) map[variable.name] = variable.value;
  return map;
}

TEST(ShareForTest, RankOfTheActualWorld_GetsItsOwnPart) {
  const Record record = RecordOfThree();
  const auto first = ShareFor(record, "/s/record.json", {}, Request(1));
  const auto last = ShareFor(record, "/s/record.json", {}, Request(2));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(first->micro_batch, 57);
  EXPECT_EQ(first->steps.size(), 1u);
  ASSERT_EQ(last->steps.size(), 2u);
  EXPECT_EQ(last->steps[1].micro_batch, 55);
  EXPECT_EQ(last->global_batch, 340);
  EXPECT_EQ(last->digest, "d4");
  EXPECT_DOUBLE_EQ(first->weight, 57 * 3.0 / 340);
  EXPECT_DOUBLE_EQ(last->weight, 56 * 3.0 / 340);
}

TEST(ShareForTest, WorldWithoutARow_IsNotFoundAndNamesTheSizes) {
  const absl::Status status = ShareFor(RecordOfThree(), "", {}, Request(1, 7)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("7"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("3"));
}

TEST(ShareForTest, ModelParallelProcesses_ShareTheirReplica) {
  Record record = RecordOfThree();
  record.request.model_parallel_size = 4;
  record.plan.rows[0].processes = 12;
  const auto share = ShareFor(record, "", {}, Request(11, 12));
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->replicas, 3);
  EXPECT_EQ(share->replica, 2);
  EXPECT_EQ(share->world_size, 12);
  EXPECT_EQ(share->steps.size(), 2u);
}

TEST(ShareForTest, DeviceThatTheAgentDoesNotHave_IsNamedWithThoseItHas) {
  const std::vector<std::string> devices = {"GPU-a", "GPU-b"};
  WorkerRequest request = Request(0);
  request.device_uuid = "GPU-c";
  const absl::Status status = ShareFor(RecordOfThree(), "", devices, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GPU-c"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("GPU-a, GPU-b"));
}

class DeviceSharesTest : public testing::Test {
 protected:
  DeviceSharesTest() {
    record_.plan.rows[0].devices = {"GPU-a", "GPU-x", "GPU-b"};
    request_ = {.world_size = 3, .rank = 0, .local_rank = 1, .local_world_size = 2};
  }

  absl::StatusOr<WorkerShare> Share() { return ShareFor(record_, "", devices_, request_); }

  Record record_ = RecordOfThree();
  const std::vector<std::string> devices_ = {"GPU-a", "GPU-b"};
  WorkerRequest request_;
};

TEST_F(DeviceSharesTest, NamedDevice_GetsItsShareWhateverTheRank) {
  request_.device_uuid = "GPU-b";
  const auto share = Share();
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->steps.size(), 2u);
}

TEST_F(DeviceSharesTest, NoDeviceNamed_TheLocalRankCounts) {
  const auto share = Share();
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->steps.size(), 2u);
}

TEST_F(DeviceSharesTest, NoDeviceNamedAndOtherCounts_IsRefused) {
  request_.local_world_size = 3;
  EXPECT_EQ(Share().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DeviceSharesTest, DeviceWithoutAShare_IsRefused) {
  record_.plan.rows[0].devices = {"GPU-a", "GPU-x", "GPU-y"};
  request_.device_uuid = "GPU-b";
  const absl::Status status = Share().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GPU-b"));
}

TEST(WorkerRequestTest, NumbersThatMakeNoSense_AreNamed) {
  struct Case {
    const char* says;
    WorkerRequest request;
  };
  const Case cases[] = {
      {"schema", {.schema = "autobatch.worker_request.v2"}},
      {"world_size 0", {.local_world_size = 1}},
      {"rank 3", {.world_size = 3, .rank = 3, .local_world_size = 1}},
      {"rank -1", {.world_size = 3, .rank = -1, .local_world_size = 1}},
      {"local_world_size 4", {.world_size = 3, .local_world_size = 4}},
      {"local_rank 1", {.world_size = 3, .local_rank = 1, .local_world_size = 1}},
      {"wait_ms -1", {.world_size = 3, .local_world_size = 1, .wait_ms = -1}},
  };
  for (const Case& bad : cases) {
    const absl::Status status = ValidateRequest(bad.request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.says));
  }
}

TEST(VariablesOfTest, EveryFieldOfTheShare_HasItsVariable) {
  const auto share = ShareFor(RecordOfThree(), "/s/record.json", {}, Request(2));
  ASSERT_TRUE(share.ok()) << share.status();
  const auto variables = Variables(*share);
  const std::map<std::string, std::string> expected = {
      {"AUTOBATCH_MICRO_BATCH", "57"}, {"AUTOBATCH_MICRO_BATCHES", "57x1,55x1"},
      {"AUTOBATCH_ACCUMULATION", "2"}, {"AUTOBATCH_GLOBAL_BATCH", "340"},
      {"AUTOBATCH_LR_FACTOR", "0.1"},  {"AUTOBATCH_WORLD_SIZE", "3"},
      {"AUTOBATCH_RANK", "2"},         {"AUTOBATCH_ROUND", "4"},
      {"AUTOBATCH_RUN_ID", "job"},     {"AUTOBATCH_RECORD", "/s/record.json"},
      {"AUTOBATCH_DIGEST", "d4"}};
  EXPECT_THAT(variables, IsSupersetOf(expected));
  EXPECT_THAT(variables, Contains(Key("AUTOBATCH_WEIGHT")));
  EXPECT_THAT(variables, Not(Contains(Key("AUTOBATCH_STEPS_PER_EPOCH"))));
  EXPECT_THAT(variables, Not(Contains(Key("AUTOBATCH_FALLBACK"))));
}

TEST(VariablesOfTest, KnownDataSetAndFallback_AreTold) {
  Record record = RecordOfThree();
  record.fallback = true;
  record.plan.rows[0].steps_per_epoch = 29;
  const auto share = ShareFor(record, "", {}, Request(0));
  ASSERT_TRUE(share.ok()) << share.status();
  const auto variables = Variables(*share);
  EXPECT_THAT(variables, Contains(Pair("AUTOBATCH_STEPS_PER_EPOCH", "29")));
  EXPECT_THAT(variables, Contains(Pair("AUTOBATCH_FALLBACK", "1")));
  EXPECT_THAT(variables, Not(Contains(Key("AUTOBATCH_MICRO_BATCHES"))));
}

}  // namespace
}  // namespace autobatch
