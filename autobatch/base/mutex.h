#ifndef AUTOBATCH_BASE_MUTEX_H_
#define AUTOBATCH_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace autobatch {

// A std::mutex that clang's thread-safety analysis understands. Debian's Abseil is not built for
// ThreadSanitizer, where correct absl::Mutex code reports races; hence not absl::Mutex.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits on a Mutex: `condition_variable.wait(mutex)` with the mutex held.
using ConditionVariable = std::condition_variable_any;

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_MUTEX_H_
