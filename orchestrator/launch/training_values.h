#ifndef ORCHESTRATOR_LAUNCH_TRAINING_VALUES_H_
#define ORCHESTRATOR_LAUNCH_TRAINING_VALUES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// What a training command is handed: the values of its placeholders and its variables.
struct TrainingValues {
  int64_t micro_batch = 0;
  int64_t accumulation = 0;
  int64_t global_batch = 0;
  std::vector<WorkerVariable> variables;
};

// Of one worker, which knows its rank.
TrainingValues ValuesOfWorker(const WorkerShare& share, std::vector<WorkerVariable> variables);

// Of a command that starts all ranks of a world: the row's largest micro-batch, and no variable
// that is one rank's own.
TrainingValues ValuesOfWorld(const Record& record, const std::string& record_path,
                             const PlanRow& row);

// Of a command whose world may change: only what stays the same in every row.
TrainingValues ValuesOfRun(const Record& record, const std::string& record_path);

// InvalidArgument for a placeholder that there is not, or that only a probe has a value for.
absl::Status CheckTrainingPlaceholders(std::span<const std::string> command);

// Words of the command that are not a worker's: those in front of a `launch … --worker` in it,
// which fills what stands behind it itself, once a rank; all of them where there is none.
std::span<const std::string> OuterWords(std::span<const std::string> command);

// Placeholders of these words that another world would fill otherwise. All of them: with the rule
// `largest` too, a node that joins may bring a smaller minimum.
std::vector<std::string> WorldDependent(std::span<const std::string> words);

// The command with the placeholders of its outer words filled.
std::vector<std::string> FillTraining(std::span<const std::string> command,
                                      const TrainingValues& values);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_TRAINING_VALUES_H_
