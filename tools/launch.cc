// Starts training with an agreed record: all ranks of a world, or one worker with its own share.

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/files.h"
#include "autobatch/base/log.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/launch/interface_choice.h"
#include "orchestrator/launch/launch_line.h"
#include "orchestrator/launch/share_output.h"
#include "orchestrator/launch/signal_relay.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/launch/supervised_child.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/launch/worker_identity.h"
#include "orchestrator/launch/worker_values.h"
#include "orchestrator/launch/world_command.h"
#include "orchestrator/nccl/nccl_facts.h"
#include "orchestrator/net/interfaces.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/net/secret.h"
#include "tools/agreed_run.h"
#include "tools/training.h"

extern "C" char** environ;

namespace autobatch {
namespace {

// What the run's records are sealed with.
absl::StatusOr<DigestFunction> SealOf(const LaunchLine& line) {
  if (!line.secret_file.empty()) {
    AB_ASSIGN_OR_RETURN(const Secret secret, Secret::FromFile(line.secret_file));
    return MakeKeyedSeal(secret);
  }
  if (line.secret_descriptor.has_value()) {
    AB_ASSIGN_OR_RETURN(const Secret secret, Secret::FromDescriptor(*line.secret_descriptor));
    return MakeKeyedSeal(secret);
  }
  return MakePlainSeal();
}

// One rank: its own share, then the command in this process's place.
int RunWorker(const LaunchLine& line, const Environment& environment) {
  const LauncherReading reading = ReadLauncher(environment);
  const bool prolog = line.format == LaunchFormat::kSlurmTaskProlog;
  // Slurm runs its TaskProlog for the batch script too, which is no rank.
  if (prolog && reading.contradictions.empty() && reading.facts.dialect == Dialect::kSlurm &&
      !reading.facts.rank.has_value()) {
    return kExitOk;
  }
  const absl::StatusOr<WorkerRequest> request = IdentifyWorker(reading, environment);
  if (!request.ok()) return Complain(request.status(), kExitUsage);
  absl::StatusOr<DigestFunction> digest = SealOf(line);
  if (!digest.ok()) return Complain(digest.status());
  const WorkerSource source{.socket = line.socket,
                            .record = line.record,
                            .run_id = line.run_id,
                            .digest = *std::move(digest),
                            .deadline = Add(Clock::Real().Now(), line.wait),
                            .allow_simulated = line.allow_simulated,
                            .fallback_batch = line.fallback_batch,
                            .warn = Shout};
  const absl::StatusOr<WorkerReply> reply = ObtainShare(source, *request);
  if (!reply.ok()) return Complain(reply.status());
  if (line.format.has_value()) return WriteOutput(line, OutputOf(*reply));
  return Complain(
      ExecCommand(CommandWith(line.command, ValuesOfWorker(*reply->share, reply->variables))),
      kExitCannotRun);
}

// All ranks, on the record in a file.
int RunOnRecord(const LaunchLine& line, const WorldCommand& world, SignalRelay& signals) {
  const absl::StatusOr<DigestFunction> digest = SealOf(line);
  if (!digest.ok()) return Complain(digest.status());
  const absl::StatusOr<Record> record = ReadStoredRecord(line.record, line.run_id, *digest);
  if (!record.ok()) return Complain(record.status());
  const absl::Status real = CheckRealDevices(record->simulated, line.allow_simulated);
  if (!real.ok()) return Complain(real);
  const absl::StatusOr<TrainingValues> values =
      ValuesFor(world, *record, line.record, std::nullopt);
  if (!values.ok()) return Complain(values.status());
  if (line.format.has_value() || !line.publish.empty()) {
    return WriteOutput(line, OutputOf(*record, line.record, *values));
  }
  return RunCommand(CommandWith(world.command, *values), line.grace, signals);
}

int RunWorld(const LaunchLine& line, const Environment& environment, const char* program) {
  SignalRelay signals;
  const LauncherReading reading = ReadLauncher(environment);
  const absl::Status agrees = CheckReading(reading);
  if (!agrees.ok()) return Complain(agrees, kExitUsage);
  const absl::StatusOr<WorldCommand> world =
      ReadWorldCommand(line.command, environment, line.world_size, program);
  if (!world.ok()) return Complain(world.status());
  if (!AgreesHere(line)) return RunOnRecord(line, *world, signals);
  return RunAgreed(line, *world, environment, reading.facts, signals);
}

// Exports what --interface asks for: to this process, so that all that it starts inherits it, and
// to whoever reads our output. There is no other thread yet.
absl::Status ExportInterface(LaunchLine& line, Environment& environment) {
  if (line.interface.empty()) return absl::OkStatus();
  AB_ASSIGN_OR_RETURN(const std::vector<Interface> interfaces, SystemInterfaces());
  const LauncherFacts launcher = ReadLauncher(environment).facts;
  const bool alone = line.coordinator.empty() && line.max_nodes.value_or(1) == 1 &&
                     line.min_nodes.value_or(1) == 1 && launcher.node_count.value_or(1) == 1 &&
                     launcher.max_nodes.value_or(1) == 1;
  AB_ASSIGN_OR_RETURN(line.exports,
                      InterfaceVariables(line.interface, interfaces, alone, environment,
                                         InNcclFiles(ReadNcclSettings(), "NCCL_SOCKET_IFNAME")));
  for (const WorkerVariable& variable : line.exports) {
    environment[variable.name] = variable.value;
    if (setenv(variable.name.c_str(), variable.value.c_str(), 1) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot export ", variable.name));
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Environment environment = EnvironmentFrom(environ);
  absl::StatusOr<LaunchLine> line =
      ParseLaunchLine(std::vector<std::string>(argv + 1, argv + argc), environment);
  if (!line.ok()) return Complain(line.status(), kExitUsage);
  if (!line->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, line->print_and_exit, "stdout");
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  InitLog(argv[0]);
  const absl::Status exported = ExportInterface(*line, environment);
  if (!exported.ok()) return Complain(exported, kExitUsage);
  return line->worker ? RunWorker(*line, environment) : RunWorld(*line, environment, argv[0]);
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(argc, argv);
}
