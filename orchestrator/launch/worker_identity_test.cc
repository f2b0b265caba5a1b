#include "orchestrator/launch/worker_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr char kFirst[] = "GPU-11111111-2222-3333-4444-555555555555";
constexpr char kSecond[] = "GPU-aaaaaaaa-2222-3333-4444-555555555555";

LauncherReading Worker() {
  return {.facts = {.dialect = Dialect::kTorchrun,
                    .rank = 3,
                    .local_rank = 1,
                    .world_size = 4,
                    .local_world_size = 2}};
}

TEST(IdentifyWorker_RanksOfALauncher, AreAskedFor) {
  const auto request = IdentifyWorker(Worker(), {});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->rank, 3);
  EXPECT_EQ(request->world_size, 4);
  EXPECT_EQ(request->local_rank, 1);
  EXPECT_EQ(request->local_world_size, 2);
  EXPECT_EQ(request->device_uuid, std::nullopt);
}

TEST(IdentifyWorker_VisibleUuids, NameTheDevice) {
  const auto device = [](const std::string& visible) {
    return IdentifyWorker(Worker(), {{"CUDA_VISIBLE_DEVICES", visible}})->device_uuid;
  };
  EXPECT_EQ(device(kFirst), kFirst);
  EXPECT_EQ(device(std::string(kFirst) + "," + kSecond), kSecond);
  // A number counts as the task's view says, which is not the agent's.
  EXPECT_EQ(device("3"), std::nullopt);
  EXPECT_EQ(device("GPU-1111"), std::nullopt);
  EXPECT_EQ(device(""), std::nullopt);
}

TEST(IdentifyWorker_NoRank, SaysHowToStartOne) {
  const auto request = IdentifyWorker({}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(request.status()));
  EXPECT_THAT(std::string(request.status().message()), HasSubstr("torchrun --no-python"));
}

TEST(IdentifyWorker_Contradictions, AreRefused) {
  LauncherReading reading = Worker();
  reading.contradictions = {"RANK=9 is not below WORLD_SIZE=4"};
  EXPECT_THAT(std::string(IdentifyWorker(reading, {}).status().message()), HasSubstr("RANK=9"));
}

}  // namespace
}  // namespace autobatch
