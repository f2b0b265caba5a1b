#include "orchestrator/launch/training_values.h"

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/command_template.h"

namespace autobatch {
namespace {

// What a reader of any language gets back to the bit.
std::string Exactly(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

}  // namespace

TrainingValues ValuesOfWorker(const WorkerShare& share, std::vector<WorkerVariable> variables) {
  return {.micro_batch = share.micro_batch,
          .accumulation = share.accumulation,
          .global_batch = share.global_batch,
          .variables = std::move(variables)};
}

TrainingValues ValuesOfRun(const Record& record, const std::string& record_path) {
  TrainingValues values{.variables = {{"AUTOBATCH_ROUND", absl::StrCat(record.round)},
                                      {"AUTOBATCH_RUN_ID", record.run_id},
                                      {"AUTOBATCH_RECORD", record_path},
                                      {"AUTOBATCH_DIGEST", record.digest}}};
  if (record.fallback) values.variables.push_back({"AUTOBATCH_FALLBACK", "1"});
  if (record.simulated) values.variables.push_back({"AUTOBATCH_SIMULATED", "1"});
  return values;
}

TrainingValues ValuesOfWorld(const Record& record, const std::string& record_path,
                             const PlanRow& row) {
  TrainingValues values = ValuesOfRun(record, record_path);
  values.micro_batch = row.micro_batch;
  values.accumulation = row.accumulation;
  values.global_batch = row.global_batch;
  std::vector<WorkerVariable>& variables = values.variables;
  variables.push_back({"AUTOBATCH_MICRO_BATCH", absl::StrCat(row.micro_batch)});
  variables.push_back({"AUTOBATCH_ACCUMULATION", absl::StrCat(row.accumulation)});
  variables.push_back({"AUTOBATCH_GLOBAL_BATCH", absl::StrCat(row.global_batch)});
  variables.push_back({"AUTOBATCH_LR_FACTOR", Exactly(row.lr_factor)});
  variables.push_back({"AUTOBATCH_WORLD_SIZE", absl::StrCat(row.processes)});
  if (row.steps_per_epoch.has_value()) {
    variables.push_back({"AUTOBATCH_STEPS_PER_EPOCH", absl::StrCat(*row.steps_per_epoch)});
  }
  return values;
}

absl::Status CheckTrainingPlaceholders(std::span<const std::string> command) {
  AB_RETURN_IF_ERROR(CheckPlaceholders(command));
  for (const char* name : {"device", "seed", "steps", "output_dir"}) {
    if (!UsesPlaceholder(command, name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "{", name, "} has a value in a probe only; a training command takes {micro_batch}, ",
        "{accumulation} and {global_batch}; for these characters themselves write {{", name, "}}"));
  }
  return absl::OkStatus();
}

std::span<const std::string> OuterWords(std::span<const std::string> command) {
  for (size_t at = 0; at < command.size(); ++at) {
    if (absl::string_view(command[at]).substr(command[at].rfind('/') + 1) != "launch") continue;
    for (size_t option = at + 1; option < command.size() && command[option] != "--"; ++option) {
      if (command[option] == "--worker") return command.first(at);
    }
  }
  return command;
}

std::vector<std::string> WorldDependent(std::span<const std::string> words) {
  std::vector<std::string> dependent;
  for (const char* name : {"batch", "accumulation", "global_batch"}) {
    if (!UsesPlaceholder(words, name)) continue;
    const bool batch = absl::string_view(name) == "batch";
    dependent.push_back(absl::StrCat("{", batch ? "micro_batch" : name, "}"));
  }
  return dependent;
}

std::vector<std::string> FillTraining(std::span<const std::string> command,
                                      const TrainingValues& values) {
  const std::span<const std::string> outer = OuterWords(command);
  std::vector<std::string> filled = FillPlaceholders(outer, {.batch = values.micro_batch,
                                                             .accumulation = values.accumulation,
                                                             .global_batch = values.global_batch});
  const std::span<const std::string> inner = command.subspan(outer.size());
  filled.insert(filled.end(), inner.begin(), inner.end());
  return filled;
}

}  // namespace autobatch
