#ifndef AUTOBATCH_DEVICE_FAKE_HOST_H_
#define AUTOBATCH_DEVICE_FAKE_HOST_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "autobatch/device/device_sources.h"

namespace autobatch {

// A folder of this test's own that stands in for "/", with what the kernel tells under /proc and
// /sys, and variables of its own.
class FakeHost {
 public:
  FakeHost();

  // Writes a file ("/proc/meminfo") and the folders above it.
  void Write(absl::string_view path, absl::string_view text) const;

  // What to give as `root`.
  const std::string& root() const { return root_; }

  // Sources that read here, without a library; not to outlive this object.
  DeviceSources Sources() const;

  std::map<std::string, std::string> environment;

 private:
  std::string root_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_FAKE_HOST_H_
