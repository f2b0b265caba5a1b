#ifndef ORCHESTRATOR_LAUNCH_SIGNAL_RELAY_H_
#define ORCHESTRATOR_LAUNCH_SIGNAL_RELAY_H_

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "autobatch/base/mutex.h"

namespace autobatch {

// Hands every signal that asks a program for something (TERM, INT, HUP, QUIT, USR1, USR2) to a
// function, on a thread of its own. To be made first thing in main: it blocks the signals for every
// thread started later. SIGPIPE is ignored: a closed stdout is an error of writing.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // From now on signals go to `handler`; those that came while there was none come first. An empty
  // one keeps them. Once this returns, the handler before is not running.
  void SetHandler(std::function<void(int)> handler);

  // The last signal that came and ends programs (not USR1, USR2); 0: none.
  int ending() const { return ending_; }

  // The signals, for who must undo the blocking in a child.
  static const std::vector<int>& Signals();

 private:
  void Run();
  void Deliver(int signal);

  Mutex mutex_;
  std::function<void(int)> handler_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> kept_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> ending_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_SIGNAL_RELAY_H_
