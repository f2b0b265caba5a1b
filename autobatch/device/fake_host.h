#ifndef AUTOBATCH_DEVICE_FAKE_HOST_H_
#define AUTOBATCH_DEVICE_FAKE_HOST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// A folder of this test's own that stands in for "/": what the kernel tells under /proc and /sys.
class FakeHost {
 public:
  FakeHost();

  // Writes a file ("/proc/meminfo") and the folders above it.
  void Write(absl::string_view path, absl::string_view text) const;

  // What to give as `root`.
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_FAKE_HOST_H_
