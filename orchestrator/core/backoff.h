#ifndef ORCHESTRATOR_CORE_BACKOFF_H_
#define ORCHESTRATOR_CORE_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace autobatch {

// How long to wait before the next attempt: doubled from `first` up to `last`, and lengthened by up
// to half of itself, by chance that follows from `who`: agents that fail together come back apart.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration last, absl::string_view who)
      : first_(first), last_(last), next_(first) {
    for (const char c : who) random_ = (random_ ^ static_cast<unsigned char>(c)) * kPrime;
  }

  absl::Duration Next() {
    // xorshift: any sequence that differs between agents will do.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const double part = static_cast<double>(random_ % 1000) / 2000;
    const absl::Duration delay = next_ * (1 + part);
    next_ = std::min(next_ * 2, last_);
    return delay;
  }

  // It went well: the next failure is a first one.
  void Reset() { next_ = first_; }

 private:
  static constexpr uint64_t kPrime = 1099511628211u;  // FNV-1a
  absl::Duration first_;
  absl::Duration last_;
  absl::Duration next_;
  uint64_t random_ = 14695981039346656037u;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_BACKOFF_H_
