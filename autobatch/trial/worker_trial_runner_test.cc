#include "autobatch/trial/worker_trial_runner.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/trial/test_support.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr SteadyTime kNever = SteadyTime::max();

WorkerTrialOptions Options(const std::string& mode) {
  WorkerTrialOptions options;
  options.programs.worker = kTestChildPath;
  options.programs.guard = kGuardPath;
  options.programs.environment = {{"TEST_CHILD", mode}};
  options.device.kind = DeviceKind::kCuda;
  options.device.uuid = "GPU-1234";
  options.start_timeout = absl::Minutes(1);
  options.grace = absl::Milliseconds(200);
  return options;
}

class WorkerTrialRunnerTest : public NothingLeftTest {
 protected:
  static Observation Run(TrialRunner& runner, const TrialSpec& trial, SteadyTime deadline = kNever,
                         const ProgressFunction& progress = {}) {
    auto seen = runner.Run(trial, deadline, progress);
    EXPECT_TRUE(seen.ok()) << seen.status();
    return seen.ok() ? *seen : Observation();
  }
  static Observation RunMode(const std::string& mode, SteadyTime deadline = kNever) {
    return Run(*NewWorkerTrialRunner(Options(mode)), {.batch = 4}, deadline);
  }
};

TEST_F(WorkerTrialRunnerTest, GoodWorker_GivesItsObservation) {
  auto runner = NewWorkerTrialRunner(Options("good"));
  std::vector<std::string> told;
  const Observation seen = Run(*runner, {.batch = 4, .seed = 7}, kNever, [&](const Reply& reply) {
    told.push_back(reply.phase.has_value() ? EnumName(*reply.phase)
                                           : absl::StrCat("step ", reply.step->step));
  });
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.trial.batch, 4);
  EXPECT_EQ(seen.trial.seed, 7);
  EXPECT_EQ(seen.steps.size(), 3u);
  EXPECT_EQ(seen.PeakReserved(), 400);
  EXPECT_EQ(seen.method, "worker");
  EXPECT_GT(seen.trial_ms, 0);
  EXPECT_GT(seen.host_peak_bytes.value_or(0), 100'000);
  EXPECT_THAT(told, ::testing::ElementsAre("forward", "backward", "step 1", "forward", "backward",
                                           "step 2", "forward", "backward", "step 3"));
  EXPECT_THAT(seen.input_shapes, ::testing::ElementsAre("GPU-1234", "0 1 2 5 6"));
}

TEST_F(WorkerTrialRunnerTest, CpuDevice_SeesNoGpu) {
  WorkerTrialOptions options = Options("good");
  options.device.kind = DeviceKind::kCpu;
  options.device.uuid = "CPU-host";
  EXPECT_EQ(Run(*NewWorkerTrialRunner(options), {}).input_shapes[0], "");
}

TEST_F(WorkerTrialRunnerTest, ExploringTrials_ShareOneProcessUntilAFreshOne) {
  auto runner = NewWorkerTrialRunner(Options("good"));
  const std::string first = Run(*runner, {.batch = 1}).output_shapes[0];
  EXPECT_EQ(Run(*runner, {.batch = 2}).output_shapes[0], first);
  const Observation fresh =
      Run(*runner, {.purpose = TrialPurpose::kConfirm, .batch = 2, .fresh_process = true});
  EXPECT_NE(fresh.output_shapes[0], first);
  EXPECT_GT(fresh.host_peak_bytes.value_or(0), 100'000);
  EXPECT_NE(Run(*runner, {.batch = 3}).output_shapes[0], fresh.output_shapes[0]);
}

TEST_F(WorkerTrialRunnerTest, Explorer_IsGoneBeforeTheFreshProcessStarts) {
  Fifo fifo;
  WorkerTrialOptions options = Options("good");
  options.programs.environment.emplace_back("TEST_FIFO", fifo.path());
  auto runner = NewWorkerTrialRunner(options);
  const int explorer = std::stoi(Run(*runner, {}).output_shapes[0]);
  bool alive = true;
  Run(*runner, {.fresh_process = true}, kNever,
      [&](const Reply&) { alive = alive && kill(explorer, 0) == 0; });
  EXPECT_FALSE(alive);
}

TEST_F(WorkerTrialRunnerTest, OutOfMemory_ReplacesTheProcessAndKeepsItsWords) {
  auto runner = NewWorkerTrialRunner(Options("out_of_memory"));
  const Observation first = Run(*runner, {});
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(first.failure->message, "64 GiB asked for");
  EXPECT_NE(first.failure->advice, "");
  EXPECT_EQ(first.failure->stderr_tail, "a word on stderr");
  EXPECT_EQ(first.steps.size(), 3u);
  EXPECT_NE(Run(*runner, {}).output_shapes[0], first.output_shapes[0]);
}

TEST_F(WorkerTrialRunnerTest, IdleWorkerThatDied_IsReplacedUnseen) {
  auto runner = NewWorkerTrialRunner(Options("dies_idle"));
  const Observation first = Run(*runner, {});
  const Observation second = Run(*runner, {});
  ASSERT_TRUE(second.ok()) << second.failure->message;
  EXPECT_NE(second.output_shapes[0], first.output_shapes[0]);
}

struct Case {
  const char* mode;
  FailureKind kind;
  const char* message;
  size_t steps;
};

const Case kCases[] = {
    {"missing_library", FailureKind::kCannotStart,
     "exited with code 127 without a result while it "
     "started: worker: error while loading shared libraries: libtorch.so",
     0},
    {"load_fails", FailureKind::kModelError, "no such model", 0},
    {"old_version", FailureKind::kProtocol, "it speaks version 0, we speak version 1", 0},
    {"other_device", FailureKind::kProtocol, "it runs on GPU-other instead of GPU-1234", 0},
    {"segv", FailureKind::kCrashed, "crashed (SIGSEGV) in backward of step 2", 1},
    {"bus", FailureKind::kCrashed, "crashed (SIGBUS) in backward of step 2", 1},
    {"abort", FailureKind::kCrashed, "crashed (SIGABRT) in backward of step 2", 1},
    {"killed", FailureKind::kHostOutOfMemory, "killed (SIGKILL) in backward of step 2", 1},
    {"bad_alloc", FailureKind::kHostOutOfMemory, "std::bad_alloc", 1},
    {"exit", FailureKind::kCrashed, "exited with code 3 without a result in backward of step 2", 1},
    {"exit_zero", FailureKind::kCrashed, "exited with code 0 without a result", 1},
    {"python_oom", FailureKind::kOutOfMemory, "Tried to allocate 2.00 GiB", 1},
    {"garbage", FailureKind::kProtocol, "byte 0x00, which no line of text has", 1},
    {"not_json", FailureKind::kProtocol, "not JSON", 1},
    {"overlong", FailureKind::kProtocol, "a line of more than 4194304 bytes", 1},
    {"cut_short", FailureKind::kCrashed, "exited with code 0 in the middle of a line", 1},
    {"closes", FailureKind::kProtocol, "closed its report descriptor", 1},
    {"other_batch", FailureKind::kBatchIgnored, "asked for a batch of 4, the model saw 64", 3},
    {"fewer_steps", FailureKind::kModelError, "ran 2 of 3 steps", 2},
};

TEST_F(WorkerTrialRunnerTest, EachWayToFail_IsClassified) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.mode);
    const Observation seen = RunMode(c.mode);
    if (seen.ok()) {
      ADD_FAILURE() << "did not fail";
      continue;
    }
    EXPECT_EQ(EnumName(seen.failure->kind), EnumName(c.kind));
    EXPECT_THAT(seen.failure->message, HasSubstr(c.message));
    EXPECT_NE(seen.failure->advice, "");
    EXPECT_EQ(seen.steps.size(), c.steps);
    EXPECT_EQ(seen.trial.batch, 4);
    EXPECT_GT(seen.trial_ms, 0);
  }
}

TEST_F(WorkerTrialRunnerTest, MissingWorker_CannotStart) {
  WorkerTrialOptions options = Options("good");
  options.programs.worker = "/nonexistent/worker";
  const Observation seen = Run(*NewWorkerTrialRunner(options), {});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kCannotStart);
  EXPECT_THAT(seen.failure->message, HasSubstr("No such file or directory"));
}

TEST_F(WorkerTrialRunnerTest, MissingGuard_IsAStatus) {
  WorkerTrialOptions options = Options("good");
  options.programs.guard = "/nonexistent/guard";
  EXPECT_EQ(NewWorkerTrialRunner(options)->Run({}, kNever, {}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(WorkerTrialRunnerTest, HangingStep_IsATimeoutWithItsPhaseAndSteps) {
  Observation seen;
  // However slow this machine is, some deadline lets the child come to where it hangs.
  for (absl::Duration limit = absl::Milliseconds(250); seen.steps.empty(); limit *= 2) {
    seen = RunMode("hang", Add(Clock::Real().Now(), limit));
  }
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(seen.failure->message, HasSubstr("it was in backward of step 2"));
  EXPECT_EQ(seen.failure->phase, TrialPhase::kBackward);
  EXPECT_EQ(seen.failure->step, 2);
  EXPECT_EQ(seen.failure->signal, std::nullopt);
  EXPECT_EQ(seen.steps.size(), 1u);
  EXPECT_EQ(seen.PeakReserved(), 400);
}

TEST_F(WorkerTrialRunnerTest, NoHello_IsATimeoutOfTheStart) {
  WorkerTrialOptions options = Options("hang_start");
  options.start_timeout = absl::Milliseconds(1);
  const Observation seen = Run(*NewWorkerTrialRunner(options), {});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(seen.failure->message, HasSubstr("while it started"));
}

TEST_F(WorkerTrialRunnerTest, GigabytesOfOutput_AreNoTrouble) {
  const Observation seen = RunMode("flood");
  EXPECT_TRUE(seen.ok()) << seen.failure->message;
}

TEST_F(WorkerTrialRunnerTest, DaemonsOfTheWorker_AreGoneWithTheRunner) {
  Fifo fifo;
  WorkerTrialOptions options = Options("daemon");
  options.programs.environment.emplace_back("TEST_FIFO", fifo.path());
  {
    auto runner = NewWorkerTrialRunner(options);
    EXPECT_TRUE(Run(*runner, {}).ok());
    fifo.ReadPids(2);
  }
  fifo.WaitUntilReleased();
}

TEST_F(WorkerTrialRunnerTest, Cancel_EndsThisTrialAndEveryLaterOne) {
  Fifo fifo;
  WorkerTrialOptions options = Options("hang");
  options.programs.environment.emplace_back("TEST_FIFO", fifo.path());
  auto runner = NewWorkerTrialRunner(options);
  std::thread other([&] {
    fifo.ReadPids(1);
    runner->Cancel();
  });
  const Observation seen = Run(*runner, {});
  other.join();
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kCancelled);
  fifo.WaitUntilReleased();
  const Observation later = Run(*runner, {.fresh_process = true});
  EXPECT_EQ(later.failure->kind, FailureKind::kCancelled);
  EXPECT_THAT(later.failure->message, Not(HasSubstr("kernel"))) << "no process was started";
}

TEST_F(WorkerTrialRunnerTest, CancelDuringProgress_KeepsTheSteps) {
  auto runner = NewWorkerTrialRunner(Options("hang"));
  const Observation seen = Run(*runner, {}, kNever, [&](const Reply& reply) {
    if (reply.step.has_value()) runner->Cancel();
  });
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kCancelled);
  EXPECT_EQ(seen.steps.size(), 1u);
}

class DescribeWorkerTest : public NothingLeftTest {};

TEST_F(DescribeWorkerTest, LongDescription_IsRead) {
  const auto description = DescribeWorker(Options("good").programs, kNever);
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->libtorch_version, "2.11.0");
  EXPECT_EQ(description->devices.size(), 300u);
}

TEST_F(DescribeWorkerTest, MissingLibrary_IsToldInItsWords) {
  const auto description = DescribeWorker(Options("missing_library").programs, kNever);
  EXPECT_EQ(description.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(description.status().message()), HasSubstr("libtorch.so"));
}

TEST_F(DescribeWorkerTest, NoDescription_IsTheWorkersFaultAndNamesIt) {
  const WorkerPrograms programs = Options("mute").programs;
  const auto description = DescribeWorker(programs, kNever);
  EXPECT_EQ(description.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(description.status().message()), HasSubstr(programs.worker));
}

TEST_F(DescribeWorkerTest, HangingDriver_IsDeadlineExceeded) {
  const auto description =
      DescribeWorker(Options("hang").programs, Add(Clock::Real().Now(), absl::Milliseconds(10)));
  EXPECT_EQ(description.status().code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace autobatch
