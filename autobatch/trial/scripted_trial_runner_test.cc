#include "autobatch/trial/scripted_trial_runner.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(ScriptedTrialRunnerTest, Script_IsTheDevice) {
  ScriptedTrialRunner runner([](const TrialSpec& trial) {
    Observation seen;
    seen.steps.resize(2);
    if (trial.batch > 16) seen.failure = Failure{.kind = FailureKind::kOutOfMemory};
    return seen;
  });
  int steps = 0;
  const auto fits = runner.Run({.batch = 16}, SteadyTime::max(), [&](const Reply&) { ++steps; });
  ASSERT_TRUE(fits.ok());
  EXPECT_TRUE(fits->ok());
  EXPECT_EQ(fits->trial.batch, 16);
  EXPECT_EQ(steps, 2);
  EXPECT_FALSE(runner.Run({.batch = 17}, SteadyTime::max(), {})->ok());
  EXPECT_EQ(runner.trials().size(), 2u);
}

TEST(ScriptedTrialRunnerTest, Cancel_EndsThisTrialAndEveryLaterOne) {
  ScriptedTrialRunner* self = nullptr;
  ScriptedTrialRunner runner([&](const TrialSpec&) {
    self->Cancel();
    return Observation();
  });
  self = &runner;
  for (int i = 0; i < 2; ++i) {
    const auto seen = runner.Run({}, SteadyTime::max(), {});
    ASSERT_FALSE(seen->ok());
    EXPECT_EQ(seen->failure->kind, FailureKind::kCancelled);
  }
  EXPECT_EQ(runner.trials().size(), 1u);
}

}  // namespace
}  // namespace autobatch
