#include "orchestrator/service/global_batch_flags.h"

namespace autobatch {

FlagGroup GlobalBatchOptions() {
  return FlagGroup("The global batch")
      .Value("rule", "R",
             "largest: all that is safe; exact: --global-batch in every world; band: the most even "
             "one within --band of it (default: by what is given)")
      .Value("global-batch", "N", "samples of one optimizer step, over all ranks")
      .Value("band", "PERCENT", "to either side of the global batch, up to 50")
      .Value("accumulation", "N",
             "largest: micro-steps of each optimizer step (default: 1); the other rules find their "
             "own")
      .Value("model-parallel-size", "N",
             "processes that hold one replica of the model, and share its samples (default: 1)")
      .Switch("sharded",
              "FSDP, ZeRO: in a smaller world each rank needs more memory, and there is no row")
      .Value("dataset-size", "N", "samples in the data set, to count an epoch's optimizer steps")
      .Switch("drop-last", "leave out an epoch's last, smaller step")
      .Value("lr-rule", "R",
             "how the learning rate follows the global batch: none, linear, sqrt (default: none)")
      .Value("reference-batch", "N", "the global batch that the learning rate was tuned for");
}

void ReadGlobalBatchFlags(FlagReader& read, PlanRequest& request) {
  read.Enum("rule", request.rule);
  read.Read("global-batch", request.global_batch, WholeNumber);
  read.Read("band", request.band_percent, Number);
  read.Read("accumulation", request.accumulation, WholeNumber);
  read.Read("model-parallel-size", request.model_parallel_size, WholeNumber);
  request.sharded = read.Switch("sharded");
  read.Read("dataset-size", request.dataset_size, WholeNumber);
  request.drop_last = read.Switch("drop-last");
  read.Enum("lr-rule", request.learning_rate);
  read.Read("reference-batch", request.reference_batch, WholeNumber);
  if (read.Given("rule")) return;
  if (request.band_percent.has_value()) {
    request.rule = GlobalBatchRule::kBand;
  } else if (request.global_batch.has_value()) {
    request.rule = GlobalBatchRule::kExact;
  }
}

}  // namespace autobatch
