#ifndef AUTOBATCH_BASE_TEMPORARY_FILES_H_
#define AUTOBATCH_BASE_TEMPORARY_FILES_H_

#include <string>

namespace autobatch {

// What WriteFileAtomically() writes to is called as the file, and this, with letters for the X.
inline constexpr char kTemporarySuffix[] = ".tmp-XXXXXX";

// Removes what such writes of this file left because their process was killed. Only where nobody
// can be writing it now: in a folder that one process at a time has for itself.
void RemoveTemporariesOf(const std::string& path);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_TEMPORARY_FILES_H_
