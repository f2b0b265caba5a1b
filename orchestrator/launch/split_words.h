#ifndef ORCHESTRATOR_LAUNCH_SPLIT_WORDS_H_
#define ORCHESTRATOR_LAUNCH_SPLIT_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// The words of a command that is given as one text, split as a shell would: at white space, with
// '…', "…" and \ to keep it. Nothing is expanded. InvalidArgument: a quote is not closed.
absl::StatusOr<std::vector<std::string>> SplitWords(absl::string_view text);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_SPLIT_WORDS_H_
