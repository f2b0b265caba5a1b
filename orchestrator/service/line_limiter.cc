#include "orchestrator/service/line_limiter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace autobatch {

std::vector<std::string> LineLimiter::Take(absl::string_view text, SteadyTime now) {
  if (refilled_ == SteadyTime::min()) refilled_ = now;
  const int64_t refill = Between(refilled_, now) / options_.interval;
  if (refill > 0) {
    allowed_ = std::min(options_.burst, allowed_ + refill);
    refilled_ = Add(refilled_, refill * options_.interval);
  }
  if (text == last_ && now < Add(last_time_, options_.repeat)) return {};
  if (allowed_ == 0) {
    ++left_out_;
    return {};
  }
  --allowed_;
  std::vector<std::string> lines = Finish();
  last_ = std::string(text);
  last_time_ = now;
  lines.push_back(last_);
  return lines;
}

std::vector<std::string> LineLimiter::Finish() {
  if (left_out_ == 0) return {};
  std::vector<std::string> lines = {absl::StrCat("(", left_out_, " more lines)")};
  left_out_ = 0;
  return lines;
}

}  // namespace autobatch
