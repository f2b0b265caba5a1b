#include "tests/sim/virtual_time.h"

#include <algorithm>
#include <utility>

namespace autobatch::sim {
namespace {

constexpr int64_t kTasksOfOneInstant = 1'000'000;

}  // namespace

void VirtualTime::At(SteadyTime when, Task task) {
  events_.push({std::max(when, now_), next_sequence_++, std::move(task)});
}

void VirtualTime::After(absl::Duration delay, Task task) { At(Add(now_, delay), std::move(task)); }

absl::Status VirtualTime::RunUntil(SteadyTime until) {
  int64_t at_once = 0;
  while (!events_.empty() && events_.top().when <= until) {
    at_once = events_.top().when == now_ ? at_once + 1 : 0;
    if (at_once > kTasksOfOneInstant) {
      return absl::InternalError("virtual time stands still: tasks ask for tasks without end");
    }
    Task task = events_.top().task;
    now_ = events_.top().when;
    events_.pop();
    task();
  }
  now_ = until;
  return absl::OkStatus();
}

}  // namespace autobatch::sim
