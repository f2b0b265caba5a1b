#ifndef AUTOBATCH_BASE_VERSION_H_
#define AUTOBATCH_BASE_VERSION_H_

namespace autobatch {

// Semantic version of the programs and of the library.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_VERSION_H_
