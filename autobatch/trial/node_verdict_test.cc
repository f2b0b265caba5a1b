#include "autobatch/trial/node_verdict.h"

#include <gmock/gmock.h>

#include <vector>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<Device> kTwo = {{.address = "cuda:0"}, {.address = "cuda:1"}};

Observation Peak(int64_t bytes) { return {.steady = MemoryPeak{.reserved_bytes = bytes}}; }

TEST(NodeVerdictTest, Strictest_IsTheLeastLimitAndTheMostHeldBack) {
  const TrialSpec specs[] = {{.batch = 4, .reserve_bytes = 5},
                             {.batch = 4, .limit_bytes = 100, .reserve_bytes = 7},
                             {.batch = 4, .limit_bytes = 90, .reserve_bytes = 6}};
  const TrialSpec strictest = Strictest(specs);
  EXPECT_EQ(strictest.batch, 4);
  EXPECT_EQ(strictest.limit_bytes, 90);
  EXPECT_EQ(strictest.reserve_bytes, 7);
}

TEST(NodeVerdictTest, AllDevicesRanWithOneRankEach_NothingIsSaid) {
  NodeObservation seen{.devices = {Peak(5), Peak(6)}};
  CheckDevices(kTwo, 2, seen);
  EXPECT_TRUE(seen.devices[0].ok());
  EXPECT_TRUE(seen.devices[1].ok());
  EXPECT_THAT(seen.devices[0].warnings, IsEmpty());
}

TEST(NodeVerdictTest, DeviceOnWhichNothingRan_FailsAll) {
  NodeObservation seen{.devices = {Peak(5), Observation()}};
  CheckDevices(kTwo, 1, seen);
  SpreadFailure(kTwo, "last words", seen);
  EXPECT_EQ(seen.failed, 1u);
  for (const Observation& device : seen.devices) {
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.failure->message,
              "cuda:1: nothing ran there: the command used 1 of 2 devices");
    EXPECT_THAT(device.failure->advice, HasSubstr("--nproc-per-node=2"));
    EXPECT_EQ(device.failure->stderr_tail, "last words");
  }
}

TEST(NodeVerdictTest, RankThatSawNoMemory_RanAllTheSame) {
  NodeObservation seen{.devices = {Peak(5), Observation{.ranks = 1}}};
  CheckDevices(kTwo, 2, seen);
  EXPECT_TRUE(seen.devices[1].ok());
}

TEST(NodeVerdictTest, NoMemorySeenAtAll_ProvesNothing) {
  NodeObservation seen{.devices = {Observation(), Observation()}};
  CheckDevices(kTwo, 0, seen);
  EXPECT_TRUE(seen.devices[0].ok());
}

TEST(NodeVerdictTest, RanksThatAreNotOneADevice_AreTold) {
  NodeObservation seen{.devices = {Peak(5), Peak(6)}};
  CheckDevices(kTwo, 4, seen);
  EXPECT_TRUE(seen.devices[0].ok());
  EXPECT_THAT(seen.devices[0].warnings, ElementsAre(HasSubstr("4 ranks reported from 2 devices")));
  NodeObservation watched{.devices = {Peak(5), Peak(6)}};
  CheckDevices(kTwo, 0, watched);
  EXPECT_THAT(watched.devices[0].warnings, IsEmpty()) << "nobody speaks: nobody can be counted";
}

TEST(NodeVerdictTest, FailureOfOneDevice_IsNotBlamedOnAnIdleOne) {
  NodeObservation seen{.devices = {Peak(5), Observation()}};
  seen.devices[0].failure = Failure{.kind = FailureKind::kOutOfMemory, .message = "full"};
  CheckDevices(kTwo, 0, seen);
  SpreadFailure(kTwo, "", seen);
  EXPECT_EQ(seen.failed, 0u);
  EXPECT_EQ(seen.devices[1].failure->message, "cuda:0: full");
  EXPECT_EQ(seen.devices[1].failure->kind, FailureKind::kOutOfMemory);
  EXPECT_NE(seen.devices[1].failure->advice, "");
}

TEST(NodeVerdictTest, OneDevice_KeepsItsMessage) {
  NodeObservation seen{.devices = {Observation()}};
  seen.devices[0].failure = Failure{.kind = FailureKind::kModelError, .message = "shapes"};
  SpreadFailure({kTwo.data(), 1}, "", seen);
  EXPECT_EQ(seen.devices[0].failure->message, "shapes");
}

}  // namespace
}  // namespace autobatch
