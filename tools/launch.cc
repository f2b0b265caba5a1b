// Starts training with an agreed record: all ranks of a world, or one worker with its own share.

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/files.h"
#include "autobatch/base/log.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/text.h"
#include "autobatch/types/json.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/launch/launch_line.h"
#include "orchestrator/launch/share_output.h"
#include "orchestrator/launch/signal_relay.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/launch/supervised_child.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/launch/worker_identity.h"
#include "orchestrator/launch/worker_values.h"
#include "orchestrator/launch/world_command.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/net/secret.h"

extern "C" char** environ;

namespace autobatch {
namespace {

void Say(absl::string_view text) { WriteAll(STDERR_FILENO, text, "stderr").IgnoreError(); }

int Complain(const absl::Status& status, int exit_code) {
  const std::string hint = exit_code == kExitUsage ? "\nlaunch --help says what there is." : "";
  // It quotes arguments and variables; they are not to command the terminal.
  std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  for (std::string& line : lines) line = EscapeControls(line);
  Say(absl::StrCat("launch: ", absl::StrJoin(lines, "\n"), hint, "\n"));
  return exit_code;
}

int Complain(const absl::Status& status) { return Complain(status, LaunchExitCode(status)); }

// What the run's records are sealed with.
absl::StatusOr<DigestFunction> SealOf(const LaunchLine& line) {
  if (!line.secret_file.empty()) {
    AB_ASSIGN_OR_RETURN(const Secret secret, Secret::FromFile(line.secret_file));
    return MakeKeyedSeal(secret);
  }
  if (line.secret_descriptor.has_value()) {
    AB_ASSIGN_OR_RETURN(const Secret secret,
                        Secret::FromDescriptor(static_cast<int>(*line.secret_descriptor)));
    return MakeKeyedSeal(secret);
  }
  return MakePlainSeal();
}

ChildCommand CommandWith(const std::vector<std::string>& command, const TrainingValues& values) {
  ChildCommand child{.command = FillTraining(command, values),
                     .working_directory = ResolveUserPath(".")};
  for (const WorkerVariable& variable : values.variables) {
    child.environment.emplace_back(variable.name, variable.value);
  }
  return child;
}

// The values on stdout instead of a command.
absl::Status WriteValues(LaunchFormat format, const LaunchOutput& output) {
  switch (format) {
    case LaunchFormat::kJson:
      return WriteAll(STDOUT_FILENO, ToPrettyJson(output), "stdout");
    case LaunchFormat::kEnv:
      return WriteAll(STDOUT_FILENO, ShellLines(output.variables), "stdout");
    case LaunchFormat::kSlurmTaskProlog: {
      AB_ASSIGN_OR_RETURN(const std::string lines, TaskPrologLines(output.variables));
      return WriteAll(STDOUT_FILENO, lines, "stdout");
    }
  }
  return absl::InternalError("unknown format");
}

LaunchOutput OutputOf(const WorkerReply& reply) {
  const WorkerShare& share = *reply.share;
  return {.run_id = share.run_id,
          .round = share.round,
          .digest = share.digest,
          .record_path = share.record_path,
          .fallback = share.fallback,
          .simulated = share.simulated,
          .share = share,
          .variables = reply.variables};
}

LaunchOutput OutputOf(const Record& record, const std::string& path, const TrainingValues& values) {
  return {.run_id = record.run_id,
          .round = record.round,
          .digest = record.digest,
          .record_path = path,
          .fallback = record.fallback,
          .simulated = record.simulated,
          .variables = values.variables};
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
                            .warn = Say};
  const absl::StatusOr<WorkerReply> reply = ObtainShare(source, *request);
  if (!reply.ok()) return Complain(reply.status());
  if (line.format.has_value()) {
    const absl::Status written = WriteValues(*line.format, OutputOf(*reply));
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  return Complain(
      ExecCommand(CommandWith(line.command, ValuesOfWorker(*reply->share, reply->variables))),
      kExitCannotRun);
}

// Starts the command, hands it our signals, and ends what it leaves behind.
int Supervise(const ChildCommand& command, absl::Duration grace, SignalRelay& signals) {
  const absl::StatusOr<std::unique_ptr<SupervisedChild>> child = SupervisedChild::Start(command);
  if (!child.ok()) return Complain(child.status(), kExitCannotRun);
  signals.SetHandler([&](int signal) { (*child)->Forward(signal); });
  const int exit_code = (*child)->Wait();
  signals.SetHandler(nullptr);
  const std::vector<std::string> left = (*child)->EndLeft(grace);
  if (!left.empty()) {
    Say(absl::StrCat("launch: the command left processes behind, which were ended: ",
                     EscapeControls(absl::StrJoin(left, ", ")), "\n"));
  }
  return exit_code;
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
  if (line.format.has_value()) {
    const absl::Status written = WriteValues(*line.format, OutputOf(*record, line.record, *values));
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  return Supervise(CommandWith(world.command, *values), line.grace, signals);
}

int RunWorld(const LaunchLine& line, const Environment& environment, const char* program) {
  SignalRelay signals;
  const absl::Status agrees = CheckReading(ReadLauncher(environment));
  if (!agrees.ok()) return Complain(agrees, kExitUsage);
  const absl::StatusOr<WorldCommand> world =
      ReadWorldCommand(line.command, environment, line.world_size, program);
  if (!world.ok()) return Complain(world.status());
  return RunOnRecord(line, *world, signals);
}

int Main(int argc, char** argv) {
  const Environment environment = EnvironmentFrom(environ);
  const absl::StatusOr<LaunchLine> line =
      ParseLaunchLine(std::vector<std::string>(argv + 1, argv + argc), environment);
  if (!line.ok()) return Complain(line.status(), kExitUsage);
  if (!line->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, line->print_and_exit, "stdout");
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  InitLog(argv[0], line->verbose);
  return line->worker ? RunWorker(*line, environment) : RunWorld(*line, environment, argv[0]);
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) { return autobatch::Main(argc, argv); }
