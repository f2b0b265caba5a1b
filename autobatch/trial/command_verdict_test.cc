#include "autobatch/trial/command_verdict.h"

#include <gmock/gmock.h>

#include <vector>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kCommand = {"python", "train.py", "{batch}"};

CommandEvidence Exited(int code, const std::string& said = "") {
  CommandEvidence evidence;
  evidence.trial.watched = true;
  evidence.trial.steps_asked = 3;
  evidence.trial.stderr_tail = said;
  evidence.trial.report = GuardReport{.wait_status = code << 8};
  return evidence;
}

TEST(CommandVerdictTest, GoodExit_NeedsNoResult) {
  EXPECT_EQ(JudgeCommand(Exited(0), kCommand), std::nullopt);
}

TEST(CommandVerdictTest, NothingThatTellsTheBatch_IsTheFailure) {
  const auto failure = JudgeCommand(Exited(0), std::vector<std::string>{"python", "train.py"});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind, FailureKind::kBatchIgnored);
  // Its own error comes first.
  const auto error = JudgeCommand(Exited(1), std::vector<std::string>{"python", "train.py"});
  EXPECT_EQ(error->kind, FailureKind::kModelError);
}

TEST(CommandVerdictTest, RefusedAllocation_DecidesOverUnknownWords) {
  CommandEvidence evidence = Exited(1, "RuntimeError: no plan");
  evidence.refusals = 1;
  evidence.refused_bytes = int64_t{64} << 20;
  const auto failure = JudgeCommand(evidence, kCommand);
  EXPECT_EQ(failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(failure->message, HasSubstr("64.0 MiB was refused; then it exited with code 1"));
  // It went on with less, and ran.
  evidence = Exited(0);
  evidence.refusals = 1;
  EXPECT_EQ(JudgeCommand(evidence, kCommand), std::nullopt);
}

TEST(CommandVerdictTest, ErrorThatItCaught_IsOutOfMemory) {
  CommandEvidence evidence = Exited(0);
  evidence.python_errors = 1;
  evidence.refusals = 2;
  evidence.refused_bytes = int64_t{64} << 20;
  const auto failure = JudgeCommand(evidence, kCommand);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(failure->message, HasSubstr("caught that error and went on"));
  EXPECT_EQ(failure->requested_bytes, int64_t{64} << 20);
}

TEST(CommandVerdictTest, ScriptThatWantsATerminal_IsToldThatThereIsNone) {
  for (const char* said : {"EOFError: EOF when reading a line", "the input device is not a TTY",
                           "OSError: [Errno 25] Inappropriate ioctl for device"}) {
    EXPECT_THAT(JudgeCommand(Exited(1, said), kCommand)->advice, HasSubstr("nobody answers"))
        << said;
  }
}

TEST(CommandVerdictTest, ErrorOnASimulatedDevice_MayBeOfItsValues) {
  CommandEvidence evidence = Exited(1, "loss is NaN, stopping");
  EXPECT_EQ(JudgeCommand(evidence, kCommand)->advice, AdviceFor(FailureKind::kModelError));
  evidence.simulated = true;
  EXPECT_THAT(JudgeCommand(evidence, kCommand)->advice, HasSubstr("AUTOBATCH_SIM_READ_BACK"));
}

TEST(CommandVerdictTest, SimulatorsWords_ExplainAnEnd) {
  const auto failure = JudgeCommand(
      Exited(
          1,
          "simcuda: cudaMallocAsync is not simulated\nTraceback (most recent call last):\n"
          "  File x\ntorch.AcceleratorError: CUDA error: operation not supported\nCompile with\n"),
      kCommand);
  EXPECT_EQ(failure->kind, FailureKind::kModelError);
  EXPECT_EQ(failure->message,
            "exited with code 1 while it ran: torch.AcceleratorError: CUDA error: operation not "
            "supported (simcuda: cudaMallocAsync is not simulated)");
}

TEST(CommandVerdictTest, ProgramThatCannotBeExecuted_IsNamed) {
  CommandEvidence evidence = Exited(0);
  evidence.trial.report->start_errno = 2;
  EXPECT_EQ(JudgeCommand(evidence, kCommand)->message,
            "'python' cannot be executed: No such file or directory");
  EXPECT_THAT(JudgeCommand(evidence, std::vector<std::string>{"python t.py {batch}"})->advice,
              HasSubstr("one word"));
}

TEST(CommandVerdictTest, GoodEndWithoutTheGpu_IsNoAnswer) {
  CommandEvidence evidence = Exited(0, "warning\nsimcuda: the CUDA runtime is 11.8; no\nbye\n");
  evidence.untouched = true;
  const auto failure = JudgeCommand(evidence, kCommand);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind, FailureKind::kModelError);
  EXPECT_EQ(failure->message,
            "it ended well and never used the GPU (simcuda: the CUDA runtime is 11.8; no)");
  EXPECT_THAT(failure->advice, HasSubstr("torch.version.cuda"));
}

TEST(CommandVerdictTest, UnknownWordsWithLittleLeft_AreSuspected) {
  CommandEvidence evidence = Exited(1, "RuntimeError: CUDNN_STATUS_INTERNAL_ERROR");
  EXPECT_EQ(JudgeCommand(evidence, kCommand)->kind, FailureKind::kModelError);
  evidence.trial.nearly_full = true;
  EXPECT_EQ(JudgeCommand(evidence, kCommand)->kind, FailureKind::kSuspectedOutOfMemory);
}

TEST(CommandVerdictTest, EndBeforeItsSteps_IsToldByThoseWhoCount) {
  CommandEvidence evidence = Exited(0);
  evidence.trial.said_hello = true;
  evidence.trial.steps = 2;
  const auto failure = JudgeCommand(evidence, kCommand);
  EXPECT_EQ(failure->kind, FailureKind::kModelError);
  EXPECT_THAT(failure->message, HasSubstr("ended after 2 of 3 steps"));
}

TEST(CommandVerdictTest, Timeout_AdvisesStepsWhereTheCommandHasNone) {
  CommandEvidence evidence;
  evidence.trial.watched = true;
  evidence.trial.end = TrialEnd::kDeadline;
  EXPECT_THAT(JudgeCommand(evidence, kCommand)->advice, HasSubstr("{steps}"));
  const auto bounded =
      JudgeCommand(evidence, std::vector<std::string>{"train", "{batch}", "{steps}"});
  EXPECT_EQ(bounded->kind, FailureKind::kTimeout);
  EXPECT_EQ(bounded->advice, AdviceFor(FailureKind::kTimeout));
}

TEST(CommandVerdictTest, EndedForItsMemory_IsOutOfMemory) {
  CommandEvidence evidence;
  evidence.trial.end = TrialEnd::kDeadline;
  evidence.over_budget = true;
  evidence.peak_bytes = int64_t{2} << 30;
  evidence.budget_bytes = int64_t{1} << 30;
  const auto failure = JudgeCommand(evidence, kCommand);
  EXPECT_EQ(failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(failure->message, HasSubstr("2.00 GiB, the budget is 1.00 GiB"));
}

}  // namespace
}  // namespace autobatch
