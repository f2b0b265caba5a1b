#include "orchestrator/nccl/local_ranks.h"

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "autobatch/base/simulated_clock.h"
#include "autobatch/device/fake_driver.h"
#include "orchestrator/nccl/fake_nccl.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

FakeDriverDevice DeviceWithUuid(uint8_t last) {
  FakeDriverDevice device;
  device.uuid = {0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, last};
  return device;
}

class LocalRanksTest : public ::testing::Test {
 protected:
  static constexpr char kFirst[] = "GPU-ab010203-0405-0607-0809-0a0b0c0d0e01";
  static constexpr char kSecond[] = "GPU-AB010203-0405-0607-0809-0A0B0C0D0E02";

  LocalRanksTest() { driver_.devices = {DeviceWithUuid(1), DeviceWithUuid(2)}; }

  absl::StatusOr<ReduceAnswer> Reduce() {
    return ranks_.Reduce(request_, Add(clock_.Now(), absl::Seconds(10)));
  }
  void Close() { ranks_.Close(Add(clock_.Now(), absl::Seconds(1))); }
  // The words of a reduction that fails.
  std::string Error(absl::StatusCode code) {
    const absl::StatusOr<ReduceAnswer> answer = Reduce();
    EXPECT_EQ(answer.status().code(), code) << answer.status();
    EXPECT_EQ(nccl_.depth, 0) << "a group was left open";
    return std::string(answer.status().message());
  }

  SimulatedClock clock_;
  FakeDriver driver_;
  FakeCuda cuda_{2};
  FakeNccl nccl_{cuda_};
  bool given_up_ = false;
  int pauses_ = 0;
  std::vector<ReducePhase> phases_;
  ReduceRequest request_ = {
      .unique_id = std::string(256, 'e'),
      .world_size = 4,
      .rank_base = 2,
      .devices = {{.uuid = kFirst, .value = 24}, {.uuid = kSecond, .value = 32}}};
  LocalRanks ranks_{{.nccl = nccl_,
                     .driver = driver_,
                     .cuda = cuda_,
                     .clock = clock_,
                     .pause =
                         [this] {
                           ++pauses_;
                           clock_.Advance(absl::Milliseconds(1));
                           return given_up_;
                         },
                     .on_phase = [this](ReducePhase phase) { phases_.push_back(phase); }}};
};

TEST_F(LocalRanksTest, RanksThatAllJoin_GetTheMinimumOfTheWorld) {
  nccl_.others = 16;
  const absl::StatusOr<ReduceAnswer> answer = Reduce();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->minimum, 16);
  ASSERT_EQ(answer->devices.size(), 2u);
  EXPECT_EQ(answer->devices[0].rank, 2);
  EXPECT_EQ(answer->devices[1].rank, 3);
  EXPECT_EQ(answer->devices[1].uuid, kSecond);
  EXPECT_GT(answer->init_ms, 0);
  EXPECT_THAT(phases_, ElementsAre(ReducePhase::kDevices, ReducePhase::kInit, ReducePhase::kReduce,
                                   ReducePhase::kMeasure));
  Close();
  EXPECT_THAT(nccl_.destroyed, ElementsAre(2, 3));
  EXPECT_THAT(nccl_.aborted, IsEmpty());
}

TEST_F(LocalRanksTest, OwnMinimum_IsFoundToo) {
  nccl_.others = 100;
  const absl::StatusOr<ReduceAnswer> answer = Reduce();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->minimum, 24);
}

TEST_F(LocalRanksTest, Communicator_IsMeasuredWithoutOurOwnBuffers) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->devices[0].communicator_bytes, 300 * kMiB);
  // The number, then as many floats as a bucket of gradients has.
  EXPECT_THAT(nccl_.counts, ElementsAre(1, 1, 25 * kMiB / 4, 25 * kMiB / 4));
}

TEST_F(LocalRanksTest, NoGradients_MeansOneCollective) {
  request_.gradient_bytes = 0;
  ASSERT_TRUE(Reduce().ok());
  EXPECT_THAT(nccl_.counts, ElementsAre(1, 1));
}

TEST_F(LocalRanksTest, MemoryThatGrowsOrIsNotTold_IsNotMeasured) {
  cuda_.devices[0].info = kDriverNotFound;
  // What another process gave back is larger than the communicator.
  nccl_.communicator_bytes = static_cast<size_t>(-5 * kMiB);
  const absl::StatusOr<ReduceAnswer> answer = Reduce();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->devices[0].communicator_bytes, std::nullopt);
  EXPECT_EQ(answer->devices[1].communicator_bytes, std::nullopt);
}

TEST_F(LocalRanksTest, InitThatFailsAtOnce_NamesTheRank) {
  nccl_.ranks[3].init = kNcclInvalidArgument;
  nccl_.last_error = "Duplicate GPU detected";
  EXPECT_EQ(Error(absl::StatusCode::kAborted),
            "making the communicator of rank 3: NCCL result 4: Duplicate GPU detected");
  ranks_.Abort();
  EXPECT_THAT(nccl_.aborted, ElementsAre(2, 3));
}

TEST_F(LocalRanksTest, GroupThatFails_IsAnError) {
  nccl_.group_end = kNcclSystemError;
  EXPECT_EQ(Error(absl::StatusCode::kAborted), "making the communicator: NCCL result 2");
}

TEST_F(LocalRanksTest, ErrorWhileJoining_NamesRankAndPhase) {
  nccl_.ranks[2].joined = kNcclRemoteError;
  EXPECT_EQ(Error(absl::StatusCode::kAborted),
            "rank 2 waiting for all ranks to join: NCCL result 6");
}

TEST_F(LocalRanksTest, RankThatNeverJoins_IsNamedAtTheDeadline) {
  nccl_.ranks[3].looks_until_joined = -1;
  EXPECT_EQ(Error(absl::StatusCode::kDeadlineExceeded),
            "NCCL waited too long for all ranks to join: rank 3 of 4");
  EXPECT_EQ(pauses_, 10'000);
  ranks_.Abort();
  EXPECT_THAT(nccl_.aborted, ElementsAre(2, 3));
}

TEST_F(LocalRanksTest, AllReduceThatFails_NamesTheRank) {
  nccl_.ranks[2].all_reduce = kNcclInternalError;
  EXPECT_EQ(Error(absl::StatusCode::kAborted), "the all-reduce of rank 2: NCCL result 3");
}

TEST_F(LocalRanksTest, PeerThatDiesInTheAllReduce_IsAnError) {
  nccl_.ranks[3].reduced = kNcclRemoteError;
  EXPECT_EQ(Error(absl::StatusCode::kAborted), "rank 3 waiting for the all-reduce: NCCL result 6");
}

TEST_F(LocalRanksTest, AllReduceThatNeverEnds_IsADeadline) {
  cuda_.devices[0].looks_until_done = -1;
  EXPECT_THAT(Error(absl::StatusCode::kDeadlineExceeded),
              HasSubstr("for the all-reduce: rank 2 of 4"));
}

TEST_F(LocalRanksTest, DeviceThatFailsMeanwhile_IsNamed) {
  cuda_.devices[1].query = kDriverUnknown;
  EXPECT_THAT(Error(absl::StatusCode::kAborted),
              AllOf(HasSubstr("the all-reduce on device "), HasSubstr(kSecond)));
}

TEST_F(LocalRanksTest, RanksWithDifferentResults_AreNotBelieved) {
  nccl_.ranks[3].excess = 1;
  EXPECT_EQ(Error(absl::StatusCode::kAborted), "NCCL gave rank 2 the minimum 24, but rank 3 25");
}

TEST_F(LocalRanksTest, OutOfDeviceMemory_HasACodeOfItsOwn) {
  nccl_.ranks[2].joined = kNcclUnhandledCudaError;
  nccl_.last_error = "Cuda failure 2 'out of memory'";
  EXPECT_THAT(Error(absl::StatusCode::kResourceExhausted), HasSubstr("out of memory"));
}

TEST_F(LocalRanksTest, OutOfMemoryForTheNumber_NamesTheDevice) {
  cuda_.devices[1].alloc = kDriverOutOfMemory;
  EXPECT_THAT(Error(absl::StatusCode::kResourceExhausted), HasSubstr(kSecond));
}

TEST_F(LocalRanksTest, OtherCudaError_IsNoMemoryQuestion) {
  nccl_.ranks[2].joined = kNcclUnhandledCudaError;
  Error(absl::StatusCode::kAborted);
}

TEST_F(LocalRanksTest, FunctionThatTheDriverLacks_IsSaid) {
  cuda_.devices[0].context = kDriverNotFound;
  EXPECT_THAT(Error(absl::StatusCode::kAborted), HasSubstr("the NVIDIA driver lacks the function"));
}

TEST_F(LocalRanksTest, NoGpu_IsNoNccl) {
  driver_.init = kDriverNoDevice;
  EXPECT_THAT(Error(absl::StatusCode::kFailedPrecondition), HasSubstr("no NCCL: "));
}

TEST_F(LocalRanksTest, DeviceThatIsNotThere_IsNamed) {
  driver_.devices.pop_back();
  EXPECT_THAT(Error(absl::StatusCode::kFailedPrecondition),
              AllOf(HasSubstr("no NCCL: "), HasSubstr(kSecond), HasSubstr("1 others")));
}

TEST_F(LocalRanksTest, SeveralMigInstances_AreRefusedBeforeAnyContext) {
  request_.devices[1].uuid = "MIG-ab010203-0405-0607-0809-0a0b0c0d0e02";
  EXPECT_THAT(Error(absl::StatusCode::kFailedPrecondition), HasSubstr("MIG"));
  EXPECT_EQ(driver_.inits, 0);
}

TEST_F(LocalRanksTest, OneMigInstance_IsADeviceLikeAnother) {
  request_.devices = {{.uuid = "MIG-ab010203-0405-0607-0809-0a0b0c0d0e02", .value = 3}};
  const absl::StatusOr<ReduceAnswer> answer = Reduce();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->minimum, 3);
}

TEST_F(LocalRanksTest, ParentThatGivesUp_EndsTheWait) {
  nccl_.ranks[2].looks_until_joined = -1;
  given_up_ = true;
  EXPECT_EQ(Error(absl::StatusCode::kCancelled), "given up while waiting for all ranks to join");
  EXPECT_EQ(pauses_, 1);
}

TEST_F(LocalRanksTest, WrongRequest_TouchesNothing) {
  request_.rank_base = 9;
  Error(absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver_.inits, 0);
}

TEST_F(LocalRanksTest, CloseThatNeverEnds_IsAnAbort) {
  nccl_.ranks[2].looks_until_final = -1;
  ASSERT_TRUE(Reduce().ok());
  Close();
  EXPECT_THAT(nccl_.destroyed, IsEmpty());
  EXPECT_THAT(nccl_.aborted, ElementsAre(2, 3));
}

TEST_F(LocalRanksTest, CloseThatFails_IsAnAbort) {
  nccl_.ranks[3].finalize = kNcclInternalError;
  ASSERT_TRUE(Reduce().ok());
  Close();
  EXPECT_THAT(nccl_.aborted, ElementsAre(2, 3));
}

TEST_F(LocalRanksTest, AbortBeforeAnyCommunicator_DoesNothing) {
  driver_.init = kDriverNoDevice;
  EXPECT_FALSE(Reduce().ok());
  ranks_.Abort();
  EXPECT_THAT(nccl_.aborted, IsEmpty());
}

}  // namespace
}  // namespace autobatch
