#include "autobatch/simcuda/completion.h"

#include <utility>

namespace autobatch::simcuda {

void Completion::Finish() {
  std::vector<std::function<void()>> follow;
  {
    const std::lock_guard lock(mutex_);
    if (done()) return;
    done_.store(true, std::memory_order_release);
    follow.swap(follow_);
    changed_.notify_all();
  }
  for (const auto& next : follow) next();
}

void Completion::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done(); });
}

void Completion::Then(std::function<void()> follow) {
  {
    const std::lock_guard lock(mutex_);
    if (!done()) {
      follow_.push_back(std::move(follow));
      return;
    }
  }
  follow();
}

Pending Both(const Pending& a, const Pending& b) {
  if (!IsPending(a) || a == b) return IsPending(b) ? b : nullptr;
  if (!IsPending(b)) return a;
  auto both = std::make_shared<Completion>();
  a->Then([b, both] { b->Then([both] { both->Finish(); }); });
  return both;
}

}  // namespace autobatch::simcuda
