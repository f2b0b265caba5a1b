#ifndef ORCHESTRATOR_DIALECT_READ_LAUNCHER_H_
#define ORCHESTRATOR_DIALECT_READ_LAUNCHER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

// What the variables say, and what is wrong with them.
struct LauncherReading {
  LauncherFacts facts;
  // Variables that cannot be read, and pairs that cannot both be true, with both values. While
  // there is one, `facts` is for messages only.
  std::vector<std::string> contradictions;
  // Worth a warning, and no reason to stop.
  std::vector<std::string> notes;
};

// Reads every dialect there is in `environment`. The innermost launcher says the ranks; those
// around it say what it does not (nodes, run id), and what both say is compared.
LauncherReading ReadLauncher(const Environment& environment);

// FailedPrecondition with every contradiction, one a line, and what to do; OK without any.
absl::Status CheckReading(const LauncherReading& reading);

// "torchrun in Slurm", "no launcher": for people.
std::string DialectName(const LauncherFacts& facts);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_READ_LAUNCHER_H_
