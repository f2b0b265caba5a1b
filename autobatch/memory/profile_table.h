#ifndef AUTOBATCH_MEMORY_PROFILE_TABLE_H_
#define AUTOBATCH_MEMORY_PROFILE_TABLE_H_

#include <string>

#include "autobatch/types/observation.h"

namespace autobatch {

// Unit in which a package prints and fits memory: see profile_units.h.
enum class ProfileUnit { kGb, kGib };

// The profilers' header line: Params, GFLOPs, GPU_mem, forward, backward, input, output.
std::string ProfileHeader(ProfileUnit unit);

// One size's line under it. `memory` is the number handed to the fit. Of a size that failed, its
// error, as the packages print it. A backward pass that was not timed is "nan", several inputs or
// outputs are "list".
std::string ProfileRow(const Observation& observation, double memory);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_PROFILE_TABLE_H_
