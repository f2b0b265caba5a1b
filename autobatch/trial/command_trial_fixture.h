#ifndef AUTOBATCH_TRIAL_COMMAND_TRIAL_FIXTURE_H_
#define AUTOBATCH_TRIAL_COMMAND_TRIAL_FIXTURE_H_

#include <string>
#include <vector>

#include "autobatch/base/clock.h"
#include "autobatch/trial/command_trial_options.h"
#include "autobatch/trial/test_support.h"

namespace autobatch {

// Runs commands in a working folder of their own, whose name is no word of a shell.
class CommandTrialFixture : public NothingLeftTest {
 protected:
  static constexpr SteadyTime kNever = SteadyTime::max();

  void SetUp() override;
  void TearDown() override;

  // Of this command on the CPU, looked at often, with little patience at its end.
  CommandTrialOptions Options(std::vector<std::string> command) const;

  // What a file of the working folder holds.
  std::string Text(const std::string& name) const;

  const std::string folder_ = ::testing::TempDir() + "/a user's folder";
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_TRIAL_FIXTURE_H_
