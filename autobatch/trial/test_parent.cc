// A program that runs a child under the guard until it is killed: test_parent GUARD COMMAND
// [ARGUMENT...]

#include <string>

#include "autobatch/base/clock.h"
#include "autobatch/trial/cancel_signal.h"
#include "autobatch/trial/child_process.h"

int main(int argc, char** argv) {
  autobatch::ChildOptions options;
  options.guard = argv[1];
  options.command.assign(argv + 2, argv + argc);
  options.protocol = true;
  options.grace = absl::Milliseconds(50);
  auto child = autobatch::ChildProcess::Start(options);
  if (!child.ok()) return 1;
  const autobatch::CancelSignal never;
  std::string output;
  (*child)->Wait(autobatch::SteadyTime::max(), never, output);
  return 0;
}
