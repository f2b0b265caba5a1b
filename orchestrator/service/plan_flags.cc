#include "orchestrator/service/plan_flags.h"

#include "autobatch/base/status_macros.h"
#include "autobatch/probe/flag_group.h"

namespace autobatch {

namespace po = boost::program_options;

po::options_description PlanOptions() {
  return FlagGroup("The global batch")
      .Value("rule", "R",
             "largest: all that is safe; exact: --global-batch in every world; band: within --band "
             "of it, as evenly as possible (default: largest)")
      .Value("global-batch", "N", "samples of one optimizer step, over all ranks")
      .Value("band", "PERCENT", "to either side of the global batch")
      .Value("micro-steps", "N",
             "largest: micro-steps of each optimizer step (default: 1); the other rules find their "
             "own")
      .Value("shares", "S",
             "same: every device takes the minimum; device: each its own batch (default: same)")
      .Value("min-ranks", "N", "smallest world that gets a row (default: the present one)")
      .Value("max-ranks", "N", "largest world that gets a row (default: the present one)")
      .Value("model-parallel", "N",
             "processes that hold one replica of the model: they share its samples (default: 1)")
      .Switch("sharded", "FSDP, ZeRO: smaller worlds need more memory on each rank, and get no row")
      .Value("samples", "N", "of the data set, to count an epoch's optimizer steps")
      .Switch("drop-last", "leave out an epoch's last, smaller step")
      .Value("lr-rule", "R",
             "how the learning rate follows the global batch: none, linear, sqrt (default: none)")
      .Value("reference-batch", "N", "the global batch that the learning rate was tuned for");
}

absl::Status ReadPlanFlags(FlagReader& read, PlanFlags& flags) {
  PlanRequest& request = flags.request;
  read.Enum("rule", request.rule);
  read.Read("global-batch", request.global_batch, WholeNumber);
  read.Read("band", request.band_percent, Number);
  read.Read("micro-steps", request.accumulation, WholeNumber);
  read.Enum("shares", flags.shares);
  read.Read("min-ranks", request.min_world_size, WholeNumber);
  read.Read("max-ranks", request.max_world_size, WholeNumber);
  read.Read("model-parallel", request.model_parallel_size, WholeNumber);
  request.sharded = read.Switch("sharded");
  read.Read("samples", request.dataset_size, WholeNumber);
  request.drop_last = read.Switch("drop-last");
  read.Enum("lr-rule", request.learning_rate);
  read.Read("reference-batch", request.reference_batch, WholeNumber);
  AB_RETURN_IF_ERROR(read.status());
  return ValidateRequest(request);
}

}  // namespace autobatch
