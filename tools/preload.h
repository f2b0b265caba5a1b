#ifndef TOOLS_PRELOAD_H_
#define TOOLS_PRELOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "autobatch/types/device.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// Whether the program that `word` means to a shell would load the libraries of LD_PRELOAD. What is
// said is for people; empty: it does, as far as its file tells.
//
// FailedPrecondition: it runs with another user's rights, and the loader then ignores LD_PRELOAD
// and hides it from what the program starts. A static program only gives a warning: some, such as
// launchers of Python, hand the variable on to a program that heeds it.
absl::StatusOr<std::string> CheckPreload(const std::string& word);

// The same of a workload that is a command on a simulated device; of any other there is nothing to
// say.
absl::StatusOr<std::string> CheckSimulated(const WorkloadSpec& workload, const Device& device);

}  // namespace autobatch

#endif  // TOOLS_PRELOAD_H_
