#ifndef AUTOBATCH_BASE_NEAREST_H_
#define AUTOBATCH_BASE_NEAREST_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// The valid name that `name` is a part of, else the one that is fewest edits away from it
// (Levenshtein distance), or "" when none is near enough to have been meant.
std::string Nearest(absl::string_view name, std::span<const std::string> valid);

// InvalidArgument: "unknown <what> 'resnet19'; did you mean 'resnet18'? Valid: ...".
absl::Status UnknownName(absl::string_view what, absl::string_view name,
                         std::span<const std::string> valid);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_NEAREST_H_
