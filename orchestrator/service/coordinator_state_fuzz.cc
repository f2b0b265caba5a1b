// Whatever is found as a coordinator's state: no crash, and what is taken for one is written as it
// was read, and a coordinator can go on from it.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/types/json.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/coordinator_state.h"
#include "orchestrator/service/sealed_file.h"

namespace {

// Nobody comes back: the members are lost one after the other, and the run ends.
void GoOn(const autobatch::CoordinatorState& state) {
  autobatch::CoordinatorConfig config{
      .run_id = state.run_id, .min_nodes = 1, .max_nodes = 2, .join_timeout = absl::Seconds(3)};
  config.options = {{"--global-batch", "64"}};
  autobatch::SteadyTime now{};
  autobatch::CoordinatorCore core(
      config, state,
      [](const autobatch::RoundFacts&) { return absl::InternalError("nobody reported"); }, now);
  for (int steps = 0; core.NextWake().has_value(); ++steps) {
    if (steps > 10'000) abort();
    now = *core.NextWake();
    for (const auto& action : core.Handle(autobatch::coordinator::Woke{}, now)) {
      const auto* const persist = std::get_if<autobatch::coordinator::Persist>(&action);
      if (persist != nullptr && persist->state.round <= state.round) abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // No mutation would find a real seal: this one is always "s".
  const autobatch::SealedFile file("state", [](absl::string_view) -> std::string { return "s"; });
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto opened = file.Open(text);
  // The length stands in the way of most mutations of what is inside: that is read in any case.
  if (opened.ok() && !absl::EndsWith(text, *opened)) abort();
  const absl::string_view content =
      opened.ok() ? absl::string_view(*opened) : text.substr(std::min(size, text.find('\n') + 1));
  const auto state = autobatch::ReadState(content, "r");
  if (!state.ok()) return 0;
  const std::string written = autobatch::ToJson(*state);
  const auto again = autobatch::ReadState(written, "r");
  if (!again.ok() || autobatch::ToJson(*again) != written) abort();
  GoOn(*state);
  return 0;
}
