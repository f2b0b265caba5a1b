#ifndef AUTOBATCH_SIMCUDA_COMPLETION_H_
#define AUTOBATCH_SIMCUDA_COMPLETION_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace autobatch::simcuda {

// The end of device work that is not over at once, which only work with other processes is.
// Thread-safe.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  // Wakes who waits, and runs what was to follow. A second call does nothing.
  void Finish();
  void Wait();
  // Runs `follow` once it is done: now, or in the thread that finishes it.
  void Then(std::function<void()> follow);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> done_ = false;
  std::vector<std::function<void()>> follow_;
};

// What is still to come; null: nothing.
using Pending = std::shared_ptr<Completion>;

inline bool IsPending(const Pending& pending) { return pending != nullptr && !pending->done(); }

// Done when both are.
Pending Both(const Pending& a, const Pending& b);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_COMPLETION_H_
