#ifndef ORCHESTRATOR_SERVICE_LINE_LIMITER_H_
#define ORCHESTRATOR_SERVICE_LINE_LIMITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// Keeps progress readable: a thousand nodes that join, or a peer that comes and goes, are a few
// lines and a count.
//
//   for (const std::string& line : limiter.Take(text, clock.Now())) Print(line);
class LineLimiter {
 public:
  struct Options {
    // Lines at once, and then in each interval.
    int64_t burst = 40;
    absl::Duration interval = absl::Milliseconds(250);
    // The same text again within this time says nothing new.
    absl::Duration repeat = absl::Seconds(10);
  };

  LineLimiter() = default;
  explicit LineLimiter(Options options) : options_(options), allowed_(options.burst) {}

  // What to print now: nothing, the text, or before it how many were left out.
  std::vector<std::string> Take(absl::string_view text, SteadyTime now);

  // What is left to say at the end.
  std::vector<std::string> Finish();

 private:
  Options options_;
  int64_t allowed_ = options_.burst;
  SteadyTime refilled_ = SteadyTime::min();
  int64_t left_out_ = 0;
  std::string last_;
  SteadyTime last_time_ = SteadyTime::min();
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_LINE_LIMITER_H_
