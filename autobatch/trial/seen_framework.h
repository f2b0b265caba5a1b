#ifndef AUTOBATCH_TRIAL_SEEN_FRAMEWORK_H_
#define AUTOBATCH_TRIAL_SEEN_FRAMEWORK_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace autobatch {

// The PyTorch that one of these processes has loaded: "PyTorch 2.13.0+cu130 in /opt/…/torch". ""
// where none of them has, or their files may not be read. `proc`: where procfs is mounted.
std::string SeenFramework(std::span<const int64_t> pids, const std::string& proc = "/proc");

// Looks for it while a command runs, until it was seen once.
class FrameworkWatch {
 public:
  // `saw` is told of it, once; empty: nobody asks.
  explicit FrameworkWatch(std::function<void(const std::string&)> saw) : saw_(std::move(saw)) {}

  // To be called again and again: of many calls some look.
  void Look(std::span<const int64_t> pids, const std::string& proc = "/proc");

 private:
  std::function<void(const std::string&)> saw_;
  int64_t calls_ = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_SEEN_FRAMEWORK_H_
