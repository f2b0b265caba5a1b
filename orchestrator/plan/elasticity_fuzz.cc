// Whatever comes as a DeepSpeed configuration: no crash, no endless search, and an answer is one
// that a job can be started with.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "absl/strings/string_view.h"
#include "autobatch/types/json.h"
#include "orchestrator/plan/elasticity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte is the world size.
  const int64_t world_size = data[0];
  const auto json =
      autobatch::ParseJson(absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!json.ok()) return 0;
  const auto config = autobatch::ReadElasticityConfig(*json);
  if (!config.ok()) return 0;
  const auto answer = autobatch::ComputeElasticBatch(*config, world_size);
  if (!answer.ok()) return 0;
  if (answer->global_batch < 1) abort();
  if (static_cast<double>(answer->global_batch) > config->max_train_batch_size) abort();
  if (world_size > 0 && answer->micro_batch.value_or(0) < 1) abort();
  return 0;
}
