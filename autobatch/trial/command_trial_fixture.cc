#include "autobatch/trial/command_trial_fixture.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/time/time.h"

namespace autobatch {

void CommandTrialFixture::SetUp() {
  std::filesystem::create_directories(folder_);
  NothingLeftTest::SetUp();
}

void CommandTrialFixture::TearDown() {
  NothingLeftTest::TearDown();
  std::filesystem::remove_all(folder_);
}

CommandTrialOptions CommandTrialFixture::Options(std::vector<std::string> command) const {
  CommandTrialOptions options;
  options.guard = std::filesystem::absolute(kGuardPath).string();
  options.working_directory = folder_;
  options.devices = {Device{.kind = DeviceKind::kCpu}};
  options.workload.kind = WorkloadKind::kCommand;
  options.workload.command = std::move(command);
  options.grace = absl::Milliseconds(200);
  options.reading_interval = absl::Milliseconds(2);
  return options;
}

std::string CommandTrialFixture::Text(const std::string& name) const {
  std::ifstream file(folder_ + "/" + name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace autobatch
