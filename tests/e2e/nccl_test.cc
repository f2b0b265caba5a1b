// The minimum over NCCL between the processes of two nodes, on simulated devices.

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "autobatch/simcuda/device.h"
#include "autobatch/trial/test_support.h"
#include "orchestrator/nccl/child_reducer.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

using Answer = absl::StatusOr<ReduceAnswer>;

std::string Absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

SteadyTime In(absl::Duration duration) { return Add(Clock::Real().Now(), duration); }

// A machine of two simulated cards, and its part of a world of two such machines.
struct Node {
  std::string name;
  int64_t rank_base = 0;
  std::vector<int64_t> batches;
  std::string faults;
  std::string devices = "rtx3090:count=2";

  std::unique_ptr<Reducer> MakeReducer() const {
    return NewChildReducer({
        .reduce = "orchestrator/nccl/reduce",
        .guard = kGuardPath,
        .environment = {{"LD_PRELOAD", Absolute("autobatch/simcuda/libsimcuda.so")},
                        {"AUTOBATCH_SIM_DEVICES", devices},
                        {"AUTOBATCH_SIM_NODE", name},
                        {"AUTOBATCH_SIM_FAULTS", faults},
                        {"AUTOBATCH_SIM_CALIBRATION", ""},
                        // The simulator comes before the sanitizer's own library.
                        {"ASAN_OPTIONS", "verify_asan_link_order=0"}},
        .abort_grace = absl::Milliseconds(300),
    });
  }

  std::string Uuid(int number) const {
    return simcuda::MakeUuid(name, simcuda::kIdentifiersPerGpu * number).Text("GPU-");
  }

  ReduceRequest Request(const std::string& id) const {
    ReduceRequest request = {.unique_id = id, .world_size = 4, .rank_base = rank_base};
    for (size_t i = 0; i < batches.size(); ++i) {
      request.devices.push_back({.uuid = Uuid(static_cast<int>(i)), .value = batches[i]});
    }
    return request;
  }

  std::future<Answer> Reduce(const std::string& id, SteadyTime deadline,
                             const CancelSignal& cancel) const {
    return std::async(std::launch::async, [this, id, deadline, &cancel] {
      return MakeReducer()->Reduce(Request(id), deadline, cancel);
    });
  }
};

class NcclTest : public NothingLeftTest {
 protected:
  // Both nodes' answers.
  std::pair<Answer, Answer> ReduceOnBoth(absl::Duration timeout = absl::Minutes(1)) {
    auto id = a_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
    EXPECT_TRUE(id.ok()) << id.status();
    if (!id.ok()) return {id.status(), id.status()};
    const SteadyTime deadline = In(timeout);
    std::future<Answer> a = a_.Reduce((*id)->unique_id(), deadline, never_);
    std::future<Answer> b = b_.Reduce((*id)->unique_id(), deadline, never_);
    Answer first = a.get();
    return {std::move(first), b.get()};
  }

  const CancelSignal never_;
  Node a_ = {.name = "a", .rank_base = 0, .batches = {40, 32}};
  Node b_ = {.name = "b", .rank_base = 2, .batches = {24, 48}};
};

TEST_F(NcclTest, TwoNodesOfTwoDevices_AllGetTheMinimum) {
  const auto [a, b] = ReduceOnBoth();
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ(a->minimum, 24);
  EXPECT_EQ(b->minimum, 24);
  EXPECT_EQ(b->library.version, "2.28.9");
  ASSERT_EQ(b->devices.size(), 2u);
  EXPECT_EQ(b->devices[1].uuid, b_.Uuid(1));
  EXPECT_EQ(b->devices[1].rank, 3);
}

TEST_F(NcclTest, Communicators_AreMeasuredOnEveryDevice) {
  const auto [a, b] = ReduceOnBoth();
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  // As the simulator has it: 64 MiB, and 32 for each of three peers.
  EXPECT_EQ(CommunicatorBytes(*a), 160 * kMiB);
  for (const ReducedDevice& device : b->devices) {
    EXPECT_EQ(device.communicator_bytes, 160 * kMiB);
  }
}

TEST_F(NcclTest, ZeroAndLargeBatches_KeepAll64Bits) {
  a_.batches = {int64_t{1} << 62, (int64_t{1} << 33) + 1};
  b_.batches = {int64_t{1} << 50, std::numeric_limits<int64_t>::max()};
  auto both = ReduceOnBoth();
  ASSERT_TRUE(both.first.ok()) << both.first.status();
  EXPECT_EQ(both.first->minimum, (int64_t{1} << 33) + 1);
  a_.batches[0] = 0;
  both = ReduceOnBoth();
  ASSERT_TRUE(both.second.ok()) << both.second.status();
  EXPECT_EQ(both.second->minimum, 0);
}

TEST_F(NcclTest, OneNodeNeverComes_TheOtherEndsByItsOwnDeadline) {
  auto id = a_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
  ASSERT_TRUE(id.ok()) << id.status();
  const Answer answer =
      a_.MakeReducer()->Reduce(a_.Request((*id)->unique_id()), In(absl::Seconds(2)), never_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(answer.status().message()),
              HasSubstr("NCCL waited too long for all ranks to join: rank 0, 1 of 4"));
}

TEST_F(NcclTest, AbortThatHangs_EndsWithTheChild) {
  a_.faults = "nccl_abort_hangs=1";
  auto id = b_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
  ASSERT_TRUE(id.ok()) << id.status();
  const Answer answer =
      a_.MakeReducer()->Reduce(a_.Request((*id)->unique_id()), In(absl::Seconds(2)), never_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("aborting hangs"));
}

TEST_F(NcclTest, NodeThatDiesInTheAllReduce_EndsTheOthersToo) {
  b_.faults = "crash_at=1";
  const auto [a, b] = ReduceOnBoth();
  EXPECT_EQ(b.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(b.status().message()),
              HasSubstr("the NCCL child, waiting for the all-reduce, died of signal 11"));
  EXPECT_EQ(a.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(a.status().message()),
              AllOf(HasSubstr("waiting for the all-reduce"), HasSubstr("a rank's process died")));
}

TEST_F(NcclTest, DeviceThatHangs_IsADeadlineOfTheAllReduce) {
  b_.faults = "hang_at=1";
  const auto [a, b] = ReduceOnBoth(absl::Seconds(3));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("for the all-reduce: rank 2, 3 of 4"));
  EXPECT_FALSE(a.ok());
}

TEST_F(NcclTest, NodeThatGivesFalseNumbers_ChangesEverybodysMinimum) {
  b_.faults = "nccl_less=1";
  const auto [a, b] = ReduceOnBoth();
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ(a->minimum, 23);
  EXPECT_EQ(b->minimum, 23);
}

TEST_F(NcclTest, NoRoomForTheCommunicator_SaysSo) {
  // Room for the context and the buffers, but not for 160 MiB more.
  b_.devices = "custom:memory=520MiB:sm=8.6:context=400MiB:count=2";
  const auto [a, b] = ReduceOnBoth(absl::Seconds(10));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kResourceExhausted) << b.status();
  EXPECT_FALSE(a.ok());
}

TEST_F(NcclTest, Cancel_EndsAWaitingReduction) {
  auto id = a_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
  ASSERT_TRUE(id.ok()) << id.status();
  CancelSignal cancel;
  std::future<Answer> answer = a_.Reduce((*id)->unique_id(), In(absl::Minutes(10)), cancel);
  cancel.Set();
  EXPECT_EQ(answer.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(NcclTest, IdWhoseMakerIsGone_CannotBeMetUnder) {
  auto id = a_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
  ASSERT_TRUE(id.ok()) << id.status();
  const std::string text = (*id)->unique_id();
  id->reset();
  const Answer answer = a_.MakeReducer()->Reduce(a_.Request(text), In(absl::Minutes(1)), never_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted);
}

TEST_F(NcclTest, DeviceOfAnotherNode_IsNamed) {
  auto id = a_.MakeReducer()->MakeUniqueId(In(absl::Minutes(1)), never_);
  ASSERT_TRUE(id.ok()) << id.status();
  ReduceRequest request = a_.Request((*id)->unique_id());
  request.devices[1].uuid = b_.Uuid(0);
  const Answer answer = a_.MakeReducer()->Reduce(request, In(absl::Minutes(1)), never_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(answer.status().message()),
              AllOf(HasSubstr("no NCCL: "), HasSubstr(b_.Uuid(0))));
}

}  // namespace
}  // namespace autobatch
