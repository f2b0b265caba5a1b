// The coordinator of a run: gathers the agents, and commits what every GPU may load.

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/log.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/probe/node_summary.h"
#include "autobatch/types/json.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/service/coordinator_flags.h"
#include "orchestrator/service/coordinator_report.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/start_exit_code.h"
#include "tools/coordinator_host.h"
#include "tools/progress_lines.h"
#include "tools/signal_watcher.h"

extern "C" char** environ;

namespace autobatch {
namespace {

// Writes what the flags ask for as rounds end; keeps the first error.
class Outputs {
 public:
  Outputs(const CoordinatorFlags& flags, ProgressLines& lines) : flags_(flags), lines_(lines) {
    report_.run_id = flags.config.run_id;
  }

  void Listening(const HostPort& address) {
    report_.address = address.ToString();
    lines_.Say(absl::StrCat("run ", report_.run_id, " listens on ", report_.address,
                            ", protocol TLS 1.3"));
    if (!flags_.address_file.empty()) {
      status_.Update(WriteFileAtomically(flags_.address_file, report_.address + "\n"));
    }
  }

  void RoundEnded(const coordinator::RoundEnded& ended) {
    AddRound(report_, ended);
    if (ended.committed) lines_.Say(CommitText(report_.rounds.back()));
    if (ended.committed && ended.record != nullptr && !flags_.record_file.empty()) {
      status_.Update(WriteFileAtomically(flags_.record_file, *ended.record));
    }
    WriteReport();
  }

  void CommitConfirmed(const coordinator::CommitConfirmed& confirmed) {
    AddConfirmation(report_, confirmed);
    WriteReport();
  }

  // The first output that was lost, if any.
  absl::Status Finish(const ServiceOutcome& outcome, int exit_code) {
    report_.exit_code = exit_code;
    report_.text = outcome.text;
    WriteReport();
    if (flags_.json_path == "-") {
      status_.Update(WriteAll(STDOUT_FILENO, ToPrettyJson(report_), "stdout"));
    }
    return status_;
  }

  const absl::Status& status() const { return status_; }

 private:
  void WriteReport() {
    if (flags_.json_path.empty() || flags_.json_path == "-") return;
    status_.Update(WriteFileAtomically(flags_.json_path, ToPrettyJson(report_)));
  }

  const CoordinatorFlags& flags_;
  ProgressLines& lines_;
  CoordinatorReport report_;
  absl::Status status_;
};

int Serve(const CoordinatorFlags& flags, ProgressLines& lines, SignalWatcher& signals) {
  const absl::StatusOr<Credentials> credentials =
      LoadCredentials(flags.credentials, flags.config.run_id);
  if (!credentials.ok()) {
    lines.Complain(credentials.status().message());
    return StartExitCode(credentials.status());
  }
  Outputs outputs(flags, lines);
  CoordinatorHooks hooks;
  hooks.say = [&lines](absl::string_view text) { lines.Say(text); };
  hooks.round_ended = [&outputs](const coordinator::RoundEnded& ended) {
    outputs.RoundEnded(ended);
  };
  hooks.commit_confirmed = [&outputs](const coordinator::CommitConfirmed& confirmed) {
    outputs.CommitConfirmed(confirmed);
  };
  const absl::StatusOr<std::unique_ptr<CoordinatorHost>> host =
      CoordinatorHost::Start(flags, *credentials, std::move(hooks));
  if (!host.ok()) {
    lines.Complain(host.status().message());
    return StartExitCode(host.status());
  }
  outputs.Listening((*host)->address());
  if (!outputs.status().ok()) {
    lines.Complain(outputs.status().message());
    return kExitInternal;
  }
  signals.OnSignal([&host](int signal) {
    (*host)->Drain(absl::StrCat("it was ended by signal ", signal), kExitSignal + signal);
  });
  const ServiceOutcome outcome = (*host)->Run();
  signals.OnSignal(nullptr);
  const int exit_code = outcome.exit_code;
  if (exit_code == kExitOk) {
    lines.Say(outcome.text);
  } else {
    lines.Complain(outcome.text);
  }
  const absl::Status written = outputs.Finish(outcome, exit_code);
  if (written.ok()) return exit_code;
  lines.Complain(written.message());
  return exit_code == kExitOk ? kExitInternal : exit_code;
}

int Main(int argc, char** argv) {
  SignalWatcher signals;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const LauncherReading launcher = ReadLauncher(EnvironmentFrom(environ));
  const absl::StatusOr<CoordinatorFlags> flags = ParseCoordinatorFlags(arguments, launcher.facts);
  ProgressLines lines("coordinator", flags.ok() && flags->quiet);
  if (!flags.ok()) {
    lines.Complain(
        absl::StrCat(flags.status().message(), "\ncoordinator --help says what there is."));
    return kExitUsage;
  }
  if (!flags->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, flags->print_and_exit, "stdout");
    return written.ok() ? kExitOk : kExitInternal;
  }
  InitLog(argv[0]);
  return Serve(*flags, lines, signals);
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(argc, argv);
}
