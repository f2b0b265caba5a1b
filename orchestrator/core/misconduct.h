#ifndef ORCHESTRATOR_CORE_MISCONDUCT_H_
#define ORCHESTRATOR_CORE_MISCONDUCT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// Agents that broke the protocol, by name: a start of an agent may choose its incarnation, but not
// whose place it takes. Who did so too often stays out for a while, lest it holds up every round by
// coming back and breaking it again. Not for good: the host may be mended.
class Misconduct {
 public:
  // More of them than a cosmic ray explains, fewer than a round needs to be held up for long.
  static constexpr int64_t kAllowed = 3;
  static constexpr absl::Duration kTime = absl::Minutes(5);

  // `most`: names that are remembered; beyond, the one that is quiet for longest is forgotten.
  explicit Misconduct(size_t most) : most_(most) {}

  // It broke the protocol. Whether that was once too often.
  bool Note(absl::string_view agent, SteadyTime now) {
    Forget(now);
    if (const auto known = breaches_.find(agent); known != breaches_.end()) {
      known->second = {.count = known->second.count + 1, .last = now};
      return known->second.count >= kAllowed;
    }
    if (breaches_.size() >= most_) ForgetOne();
    breaches_.emplace(agent, Breaches{.count = 1, .last = now});
    return kAllowed <= 1;
  }

  // How long it has to stay out; zero: not at all.
  absl::Duration Out(absl::string_view agent, SteadyTime now) {
    Forget(now);
    const auto known = breaches_.find(agent);
    if (known == breaches_.end() || known->second.count < kAllowed) return absl::ZeroDuration();
    return kTime - Between(known->second.last, now);
  }

 private:
  struct Breaches {
    int64_t count = 0;
    SteadyTime last;
  };

  void Forget(SteadyTime now) {
    std::erase_if(breaches_,
                  [now](const auto& entry) { return Between(entry.second.last, now) >= kTime; });
  }
  void ForgetOne() {
    auto quiet = breaches_.begin();
    for (auto entry = breaches_.begin(); entry != breaches_.end(); ++entry) {
      if (entry->second.last < quiet->second.last) quiet = entry;
    }
    if (quiet != breaches_.end()) breaches_.erase(quiet);
  }

  size_t most_;
  std::map<std::string, Breaches, std::less<>> breaches_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_MISCONDUCT_H_
