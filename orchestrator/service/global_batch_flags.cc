#include "orchestrator/service/global_batch_flags.h"

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

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

std::string GlobalBatchFlag(absl::string_view field, absl::string_view world_flag) {
  if (field == "band_percent") return "--band";
  if (field == "learning_rate") return "--lr-rule";
  if (absl::ConsumeSuffix(&field, "_world_size")) return absl::StrCat("--", field, "-", world_flag);
  return absl::StrCat("--", absl::StrReplaceAll(field, {{"_", "-"}}));
}

absl::Status InGlobalBatchFlags(const absl::Status& status, absl::string_view world_flag) {
  absl::string_view rest = status.message();
  std::string text;
  while (!rest.empty()) {
    const size_t size =
        std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), rest.size());
    const absl::string_view word = rest.substr(0, size);
    bool is_field = false;
    boost::mp11::mp_for_each<
        boost::describe::describe_members<PlanRequest, boost::describe::mod_any_access>>(
        [&](auto field) { is_field |= word == field.name; });
    // One without '_' is a plain word, too, unless it is what the error begins with.
    if (is_field && (text.empty() || absl::StrContains(word, '_'))) {
      text += GlobalBatchFlag(word, world_flag);
    } else {
      absl::StrAppend(&text, word);
    }
    absl::StrAppend(&text, rest.substr(size, 1));
    rest.remove_prefix(std::min(size + 1, rest.size()));
  }
  return absl::Status(status.code(), text);
}

}  // namespace autobatch
