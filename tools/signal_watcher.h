#ifndef TOOLS_SIGNAL_WATCHER_H_
#define TOOLS_SIGNAL_WATCHER_H_

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "autobatch/base/mutex.h"

namespace autobatch {

// Turns SIGINT, SIGTERM and SIGHUP into a call on a thread of its own. To be made first thing in
// main: it blocks the signals for every thread started later. SIGPIPE is ignored: a closed stdout
// is an error of writing.
//
// Without a callback the first signal ends the program with 128 + its number, and takes its scratch
// folders along; the second one always does, at once. Children do not outlive it.
class SignalWatcher {
 public:
  SignalWatcher();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // Called with the signal's number, once, on the watcher's thread.
  void OnSignal(std::function<void(int)> callback);

  // The first signal that came; 0: none.
  int received() const { return received_; }

 private:
  void Watch();

  Mutex mutex_;
  std::function<void(int)> callback_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> received_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace autobatch

#endif  // TOOLS_SIGNAL_WATCHER_H_
