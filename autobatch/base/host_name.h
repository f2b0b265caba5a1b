#ifndef AUTOBATCH_BASE_HOST_NAME_H_
#define AUTOBATCH_BASE_HOST_NAME_H_

#include <string>

namespace autobatch {

// What this machine calls itself; "localhost" where it has no name.
std::string HostName();

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_HOST_NAME_H_
