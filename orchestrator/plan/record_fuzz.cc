// Whatever text comes as a record: no crash, and what is taken for one has rows that can be used
// and is written as it was read.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string>

#include "absl/strings/string_view.h"
#include "orchestrator/plan/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // No mutation would find a real digest: this one is always "d".
  const autobatch::DigestFunction digest = [](absl::string_view) { return "d"; };
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = autobatch::ReadRecord(text, digest);
  if (!record.ok()) return 0;
  for (const autobatch::PlanRow& row : record->plan.rows) {
    const auto found = autobatch::RowFor(record->plan, row.processes);
    if (!found.ok() || found->world_size != row.world_size) abort();
    const auto last = autobatch::ShareOfRank(row, row.world_size - 1);
    if (!last.ok() || last->samples < 1 || last->micro_batch > row.micro_batch) abort();
    if (row.devices.empty() && row.micro_batch > record->minimum_batch) abort();
  }
  if (autobatch::RowFor(record->plan, record->world_size * record->request.model_parallel_size)
          .ok() == record->plan.rows.empty()) {
    abort();
  }
  const std::string written = autobatch::RecordText(*record);
  const auto again = autobatch::ReadRecord(written, digest);
  if (!again.ok() || autobatch::RecordText(*again) != written) abort();
  return 0;
}
