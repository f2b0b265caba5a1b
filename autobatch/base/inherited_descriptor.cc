#include "autobatch/base/inherited_descriptor.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

absl::StatusOr<int> InheritedDescriptor(const char* variable) {
  const char* const text = std::getenv(variable);
  int descriptor = -1;
  if (text != nullptr && absl::SimpleAtoi(text, &descriptor) && descriptor >= 0) return descriptor;
  return absl::FailedPreconditionError(
      absl::StrCat(variable, " names no descriptor: this program is started by autobatch itself"));
}

}  // namespace autobatch
