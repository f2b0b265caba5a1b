#ifndef AUTOBATCH_WORKER_AUTOCAST_SCOPE_H_
#define AUTOBATCH_WORKER_AUTOCAST_SCOPE_H_

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "autobatch/types/workload.h"

namespace autobatch {

// Autocast of this thread to the precision's dtype while it lives, as Python's torch.autocast: the
// casts of weights are cached (2 bytes a parameter) until the outermost scope ends. Nothing for
// fp32.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const c10::DeviceType device_;
  const bool active_;
  bool was_enabled_ = false;
  c10::ScalarType was_dtype_ = c10::ScalarType::Float;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_AUTOCAST_SCOPE_H_
