#include "autobatch/trial/classify.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <signal.h>

#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A child that died in backward of step 2 of 3.
TrialEvidence Ended(int wait_status, std::string stderr_tail = "") {
  TrialEvidence evidence;
  evidence.said_hello = true;
  evidence.phase = TrialPhase::kBackward;
  evidence.steps = 1;
  evidence.steps_asked = 3;
  evidence.report = GuardReport{.wait_status = wait_status};
  evidence.stderr_tail = std::move(stderr_tail);
  return evidence;
}

constexpr int ExitCode(int code) { return code << 8; }

TEST(ClassifyTest, KillWithOomRecord_IsCertain) {
  TrialEvidence evidence = Ended(SIGKILL);
  evidence.oom_kills = 1;
  evidence.host_available_bytes = int64_t{3} << 30;
  const Failure failure = Classify(evidence);
  EXPECT_EQ(failure.kind, FailureKind::kHostOutOfMemory);
  EXPECT_EQ(
      failure.message,
      "killed (SIGKILL) in backward of step 2, by the kernel's out-of-memory killer, which ended "
      "a process during this trial; host memory available when the trial began was 3.00 GiB");
  EXPECT_EQ(failure.signal, SIGKILL);
  EXPECT_EQ(failure.exit_code, std::nullopt);
  EXPECT_EQ(failure.phase, TrialPhase::kBackward);
  EXPECT_EQ(failure.step, 2);
}

TEST(ClassifyTest, KillWithoutRecord_IsProbable) {
  EXPECT_THAT(Classify(Ended(SIGKILL)).message, HasSubstr("probably by the kernel's"));
}

TEST(ClassifyTest, ErrorThatEndedIt_ComesBeforeOneThatItSurvived) {
  const std::string survived = "torch.OutOfMemoryError: CUDA out of memory. Trying a smaller one\n";
  const std::string trace = "Traceback (most recent call last):\n  File x\n";
  Failure failure = Classify(Ended(
      ExitCode(1), survived + trace + "RuntimeError: CUDA error: device-side assert triggered\n"));
  EXPECT_EQ(failure.kind, FailureKind::kIllegalAccess);
  failure = Classify(Ended(ExitCode(1), survived + trace + "RuntimeError: Trainer stopped\nbye\n"));
  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory) << "its end says nothing of why";
  EXPECT_EQ(failure.stderr_tail, survived + trace + "RuntimeError: Trainer stopped");
}

TEST(ClassifyTest, DeviceWithoutKernels_HasItsOwnAdvice) {
  const Failure failure = Classify(
      Ended(ExitCode(1),
            "RuntimeError: CUDA error: no kernel image is available for execution on the device"));
  EXPECT_THAT(failure.advice, HasSubstr("compute capability"));
}

TEST(ClassifyTest, SegmentationFault_IsACrashWhateverTheLogSays) {
  const Failure failure = Classify(Ended(SIGSEGV, "warning: std::bad_alloc is caught"));
  EXPECT_EQ(failure.kind, FailureKind::kCrashed);
  EXPECT_THAT(failure.message, HasSubstr("crashed (SIGSEGV) in backward of step 2"));
}

TEST(ClassifyTest, AbortWithText_IsWhatTheTextSays) {
  const Failure failure = Classify(Ended(
      SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'\n  what(): x"));
  EXPECT_EQ(failure.kind, FailureKind::kHostOutOfMemory);
  EXPECT_THAT(failure.message, HasSubstr("'std::bad_alloc'"));
}

TEST(ClassifyTest, ExitWithFrameworkText_KeepsTheBytes) {
  const Failure failure = Classify(
      Ended(ExitCode(1),
            "Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
            "\nsomething after it"));
  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(failure.requested_bytes, int64_t{2} << 30);
  EXPECT_THAT(failure.message, HasSubstr("CUDA out of memory"));
  EXPECT_EQ(failure.exit_code, 1);
}

TEST(ClassifyTest, ExitBeforeHello_CannotStart) {
  TrialEvidence evidence = Ended(ExitCode(127), "cannot open shared object file\n");
  evidence.said_hello = false;
  const Failure failure = Classify(evidence);
  EXPECT_EQ(failure.kind, FailureKind::kCannotStart);
  EXPECT_EQ(
      failure.message,
      "exited with code 127 without a result while it started: cannot open shared object file");
  EXPECT_EQ(failure.step, std::nullopt);
}

TEST(ClassifyTest, CannotExecute_DependsOnWhy) {
  TrialEvidence evidence;
  evidence.report = GuardReport{.start_errno = ENOENT};
  EXPECT_EQ(Classify(evidence).kind, FailureKind::kCannotStart);
  evidence.report = GuardReport{.start_errno = ENOMEM};
  EXPECT_EQ(Classify(evidence).kind, FailureKind::kHostOutOfMemory);
}

TEST(ClassifyTest, WhatWeEnded_IsNotTakenForACrash) {
  for (const auto& [end, kind] : {std::pair(TrialEnd::kDeadline, FailureKind::kTimeout),
                                  std::pair(TrialEnd::kCancelled, FailureKind::kCancelled),
                                  std::pair(TrialEnd::kGarbage, FailureKind::kProtocol),
                                  std::pair(TrialEnd::kClosed, FailureKind::kProtocol)}) {
    TrialEvidence evidence = Ended(SIGKILL, "CUDA out of memory");
    evidence.end = end;
    evidence.limit = absl::Minutes(10);
    const Failure failure = Classify(evidence);
    EXPECT_EQ(EnumName(failure.kind), EnumName(kind));
    EXPECT_EQ(failure.signal, std::nullopt);
    EXPECT_THAT(failure.message, HasSubstr("in backward of step 2"));
    EXPECT_THAT(failure.message, Not(HasSubstr("let go")));
  }
}

TEST(ClassifyTest, ProcessThatCannotBeEnded_IsToldSo) {
  TrialEvidence evidence = Ended(0);
  evidence.end = TrialEnd::kDeadline;
  evidence.limit = absl::Minutes(10) - absl::Nanoseconds(731);
  evidence.report.reset();
  EXPECT_EQ(Classify(evidence).message,
            "no result within 10m; it was in backward of step 2; the kernel has not let go of its "
            "process yet");
}

TEST(ClassifyTest, GuardKilled_IsToldSo) {
  TrialEvidence evidence = Ended(0);
  evidence.report.reset();
  EXPECT_EQ(Classify(evidence).kind, FailureKind::kCrashed);
  EXPECT_THAT(Classify(evidence).message, HasSubstr("guard"));
}

TEST(ClassifyTest, AfterTheLastStep_IsNotAStepMore) {
  TrialEvidence evidence = Ended(ExitCode(1));
  evidence.steps = 3;
  evidence.phase = TrialPhase::kEvaluation;
  EXPECT_EQ(Classify(evidence).step, 3);
  EXPECT_THAT(Classify(evidence).message, HasSubstr("in its phase 'evaluation'"));
}

Observation Result(int64_t batch_seen, size_t steps) {
  Observation result;
  result.batch_seen = batch_seen;
  result.steps.resize(steps);
  return result;
}

TEST(CheckResultTest, WhatWasAsked_IsGood) {
  EXPECT_FALSE(CheckResult({.batch = 4, .steps = 3}, Result(4, 3)).has_value());
}

TEST(CheckResultTest, OtherBatch_IsIgnoredBatch) {
  EXPECT_EQ(CheckResult({.batch = 4, .steps = 3}, Result(64, 3))->kind, FailureKind::kBatchIgnored);
}

TEST(CheckResultTest, FewerSteps_AreAModelError) {
  const auto failure = CheckResult({.batch = 4, .steps = 3}, Result(4, 0));
  EXPECT_EQ(failure->kind, FailureKind::kModelError);
  EXPECT_THAT(failure->message, HasSubstr("ran 0 of 3 steps"));
}

TEST(AdviceForTest, EveryKindButCancelled_HasOne) {
  for (const std::string& name : EnumNames<FailureKind>()) {
    const FailureKind kind = *ParseEnum<FailureKind>("failure", name);
    EXPECT_EQ(AdviceFor(kind).empty(), kind == FailureKind::kCancelled) << name;
  }
}

}  // namespace
}  // namespace autobatch
