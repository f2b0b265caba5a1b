#ifndef AUTOBATCH_TRIAL_ERROR_LOG_H_
#define AUTOBATCH_TRIAL_ERROR_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

struct LoggedError {
  // The error itself, in one line; "" of an empty log.
  std::string line;
  // It and what stands before it, of `lines` lines at most.
  std::string excerpt;
};

// Of what a command and its processes wrote to stderr, what ended it: the error below the last
// stack trace of Python, else the last line that says something. Where ranks mark their lines
// ("[rank1]: ", as PyTorch does) it is the error of the first one that failed, since the others
// fail of its absence; what a launcher says of its ranks (torchrun, accelerate) counts where there
// is nothing else. Pure.
LoggedError FindLoggedError(absl::string_view log, size_t lines);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_ERROR_LOG_H_
