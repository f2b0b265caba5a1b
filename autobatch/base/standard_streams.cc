#include "autobatch/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace autobatch {

void ReserveStandardStreams() {
  // From the lowest: open() takes the lowest that is free.
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace autobatch
