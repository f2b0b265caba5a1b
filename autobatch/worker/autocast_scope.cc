#include "autobatch/worker/autocast_scope.h"

#include <ATen/autocast_mode.h>

namespace autobatch {

AutocastScope::AutocastScope(c10::DeviceType device, Precision precision)
    : device_(device), active_(precision != Precision::kFp32) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  was_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, precision == Precision::kAmpFp16
                                                ? c10::ScalarType::Half
                                                : c10::ScalarType::BFloat16);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, was_dtype_);
}

}  // namespace autobatch
