#include "autobatch/base/host_name.h"

#include <unistd.h>

namespace autobatch {

std::string HostName() {
  char name[256] = "";
  const bool told = gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0';
  return told ? name : "localhost";
}

}  // namespace autobatch
