#ifndef AUTOBATCH_BASE_INHERITED_DESCRIPTOR_H_
#define AUTOBATCH_BASE_INHERITED_DESCRIPTOR_H_

#include "absl/status/statusor.h"

namespace autobatch {

// The descriptor whose number a parent of ours left in this variable of the environment.
// FailedPrecondition: it left none; somebody started the program by hand.
absl::StatusOr<int> InheritedDescriptor(const char* variable);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_INHERITED_DESCRIPTOR_H_
