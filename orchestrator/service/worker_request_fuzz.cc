// Whatever a process says at the agent's socket, and whatever answers there: no crash, and what is
// granted is a share that the record holds.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/json.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_request.h"
#include "orchestrator/service/worker_share.h"

namespace {

using autobatch::DeviceShare;
using autobatch::Record;

constexpr int64_t kSmallest = 24;
constexpr int64_t kLargest = 57;

// Rows for one to eight processes, two to a replica unless every device has its own share.
Record MakeExample(const std::vector<DeviceShare>& shares) {
  Record facts;
  facts.run_id = "job";
  facts.round = 4;
  facts.autobatch_version = "1.0.0";
  facts.minimum_batch = kSmallest;
  facts.minimum_node = "n1";
  facts.minimum_device = "GPU-2";
  facts.world_size = 2;
  facts.request.min_world_size = 1;
  facts.request.max_world_size = 4;
  facts.request.model_parallel_size = shares.empty() ? 2 : 1;
  const absl::StatusOr<Record> record = autobatch::MakeRecord(
      std::move(facts), shares, [](absl::string_view) -> std::string { return "d"; });
  if (!record.ok()) abort();
  return *record;
}

void Ask(const Record& record, const autobatch::WorkerRequest& request) {
  const std::vector<std::string> devices = {"GPU-1", "GPU-2"};
  const auto share = autobatch::ShareFor(record, "/run/record.json", devices, request);
  if (!share.ok()) return;
  int64_t micro_steps = 0;
  for (const autobatch::MicroSteps& steps : share->steps) {
    micro_steps += steps.count;
    if (steps.micro_batch > share->micro_batch) abort();
  }
  if (micro_steps != share->accumulation || share->micro_batch > kLargest ||
      share->world_size != request.world_size) {
    abort();
  }
  for (const autobatch::WorkerVariable& variable : autobatch::VariablesOf(*share)) {
    if (variable.name.empty() || variable.value.empty()) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Record* const same = new Record(MakeExample({}));
  static const Record* const own =
      new Record(MakeExample({{"GPU-1", kLargest}, {"GPU-2", kSmallest}}));
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = autobatch::FromJson<autobatch::WorkerRequest>(text); request.ok()) {
    Ask(*same, *request);
    Ask(*own, *request);
  }
  if (const auto reply = autobatch::FromJson<autobatch::WorkerReply>(text); reply.ok()) {
    const std::string written = autobatch::ToJson(*reply);
    const auto again = autobatch::FromJson<autobatch::WorkerReply>(written);
    if (!again.ok() || autobatch::ToJson(*again) != written) abort();
  }
  return 0;
}
