#include "orchestrator/nccl/child_reducer.h"

#include <gmock/gmock.h>

#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "autobatch/trial/test_support.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SteadyTime In(absl::Duration duration) { return Add(Clock::Real().Now(), duration); }

class ChildReducerTest : public NothingLeftTest {
 protected:
  static std::unique_ptr<Reducer> Acting(const std::string& mode,
                                         absl::Duration abort_grace = absl::Milliseconds(100)) {
    return NewChildReducer({.reduce = "orchestrator/nccl/test_reduce",
                            .guard = kGuardPath,
                            .environment = {{"TEST_REDUCE", mode}},
                            .nccl_library = "/x/libnccl.so.2",
                            .abort_grace = abort_grace});
  }
  // The real program, with one library to try.
  static std::unique_ptr<Reducer> Real(const std::string& library) {
    return NewChildReducer(
        {.reduce = "orchestrator/nccl/reduce",
         .guard = kGuardPath,
         // Only loopback is there in a test. An id of the user's own would be
         // the same for every attempt.
         .environment = {{"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_COMM_ID", "127.0.0.1:29999"}},
         .nccl_library = library});
  }
  static ReduceRequest Request() {
    return {.unique_id = std::string(256, 'c'),
            .world_size = 2,
            .devices = {{.uuid = "GPU-a", .value = 1}, {.uuid = "GPU-b", .value = 2}}};
  }
  absl::StatusOr<ReduceAnswer> Reduce(const std::string& mode,
                                      absl::Duration timeout = absl::Minutes(1)) {
    return Acting(mode)->Reduce(Request(), In(timeout), cancel_);
  }

  CancelSignal cancel_;
};

TEST_F(ChildReducerTest, Child_IsToldItsDevicesLibraryAndTime) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("answer");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->library.version, "GPU-a,GPU-b");
  EXPECT_EQ(answer->library.path, "/x/libnccl.so.2");
  EXPECT_GT(answer->minimum, 30'000);
  EXPECT_LE(answer->minimum, 60'000);
}

TEST_F(ChildReducerTest, AnswerBeforeAHang_IsGood) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("answer_and_hang");
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(ChildReducerTest, ChildThatHangs_IsKilledAfterTheDeadline) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("hang", absl::Milliseconds(50));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(answer.status().message(),
            "NCCL waited too long for all ranks to join, and no longer answers");
}

TEST_F(ChildReducerTest, Cancel_EndsAChildThatHangs) {
  std::thread canceller([this] { cancel_.Set(); });
  const absl::StatusOr<ReduceAnswer> answer = Reduce("hang", absl::Hours(1));
  canceller.join();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ChildReducerTest, ChildThatListens_IsAskedBeforeItIsEnded) {
  cancel_.Set();
  const absl::StatusOr<ReduceAnswer> answer =
      Acting("wait", absl::Minutes(1))->Reduce(Request(), In(absl::Minutes(1)), cancel_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("it wrote: let go"));
}

TEST_F(ChildReducerTest, Crash_NamesSignalPhaseAndLastWords) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("crash");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answer.status().message(),
            "the NCCL child, waiting for all ranks to join, died of signal 9 (Killed); it wrote: "
            "NCCL WARN something broke");
}

TEST_F(ChildReducerTest, ExitWithoutAnAnswer_SaysSo) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("quit");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("exited with 4 and no answer"));
}

TEST_F(ChildReducerTest, Garbage_IsNoAnswer) {
  EXPECT_EQ(Reduce("garbage").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ChildReducerTest, AnswerToAnotherQuestion_IsNoAnswer) {
  EXPECT_EQ(Reduce("other").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ChildReducerTest, Failure_KeepsItsCodeAndWhatNcclWrote) {
  const absl::StatusOr<ReduceAnswer> answer = Reduce("fail");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(answer.status().message(), "broken; it wrote: NCCL WARN the reason");
}

TEST_F(ChildReducerTest, WrongRequest_StartsNothing) {
  ReduceRequest request = Request();
  request.world_size = 1;
  EXPECT_EQ(Acting("answer")->Reduce(request, In(absl::Minutes(1)), cancel_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ChildReducerTest, MissingPrograms_AreNamed) {
  const auto no_guard = NewChildReducer({.reduce = "/none/reduce", .guard = "/none/guard"});
  EXPECT_THAT(std::string(no_guard->MakeUniqueId(In(absl::Minutes(1)), cancel_).status().message()),
              HasSubstr("/none/guard"));
  const auto no_program = NewChildReducer({.reduce = "/none/reduce", .guard = kGuardPath});
  const auto id = no_program->MakeUniqueId(In(absl::Minutes(1)), cancel_);
  EXPECT_EQ(id.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(id.status().message()), HasSubstr("could not be started: No such file"));
}

TEST_F(ChildReducerTest, NodeWithoutNccl_SaysSoToEveryQuestion) {
  const auto reducer = Real("/none/libnccl.so.2");
  for (const absl::Status& status :
       {reducer->MakeUniqueId(In(absl::Minutes(1)), cancel_).status(),
        reducer->Reduce(Request(), In(absl::Minutes(1)), cancel_).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("no NCCL: "), HasSubstr("/none/libnccl.so.2")));
  }
}

// On a node without a GPU NCCL is there all the same, and then the driver is what is missing.
TEST_F(ChildReducerTest, RealNccl_WithoutADriver_MakesIdsAndReducesNothing) {
  const auto reducer = Real("");
  const auto id = reducer->MakeUniqueId(In(absl::Minutes(1)), cancel_);
  if (!id.ok()) GTEST_SKIP() << id.status();
  EXPECT_EQ((*id)->unique_id().size(), 256u);
  const auto other = reducer->MakeUniqueId(In(absl::Minutes(1)), cancel_);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE((*id)->unique_id(), (*other)->unique_id());
  const absl::StatusOr<ReduceAnswer> answer =
      reducer->Reduce(Request(), In(absl::Minutes(1)), cancel_);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("no NCCL: "));
}

}  // namespace
}  // namespace autobatch
