// The agent of one node: probes its devices, agrees with the others, and hands out the shares.

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/log.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/node_summary.h"
#include "autobatch/report/text.h"
#include "autobatch/types/json.h"
#include "orchestrator/dialect/device_count.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/agent_flags.h"
#include "orchestrator/service/agent_report.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/start_exit_code.h"
#include "tools/agent_host.h"
#include "tools/progress_lines.h"
#include "tools/signal_watcher.h"
#include "tools/trial_lines.h"

extern "C" char** environ;

namespace autobatch {
namespace {

absl::Status WriteReport(const AgentHost& host, const ServiceOutcome& outcome,
                         std::optional<Record> record) {
  const std::string& path = host.flags().json_path;
  if (path.empty()) return absl::OkStatus();
  const std::string text = ToPrettyJson(AgentReport{.run_id = host.flags().config.hello.run_id,
                                                    .agent = host.flags().config.hello.agent,
                                                    .exit_code = outcome.exit_code,
                                                    .text = outcome.text,
                                                    .record = std::move(record),
                                                    .node = host.Report()});
  return path == "-" ? WriteAll(STDOUT_FILENO, text, "stdout") : WriteFileAtomically(path, text);
}

int Serve(AgentHost& host, ProgressLines& lines, SignalWatcher& signals) {
  const AgentFlags& flags = host.flags();
  for (const std::string& warning : host.warnings()) lines.Say(WarningText(warning));
  std::optional<Record> record;
  AgentHooks hooks;
  hooks.say = [&lines](absl::string_view text) { lines.Say(text); };
  hooks.committed = [&](const Record& committed) {
    record = committed;
    lines.Say(absl::StrCat("training may start: batch ", FormatCount(committed.minimum_batch),
                           " on each of ", FormatCount(committed.world_size), " ranks; ",
                           flags.record_path(), ", socket ", flags.workers.path));
  };
  TrialLines trials(host.node().devices(), lines);
  signals.OnSignal([&host](int signal) {
    host.Drain(absl::StrCat("the agent was ended by signal ", signal), /*done=*/false,
               kExitSignal + signal);
  });
  const ServiceOutcome outcome = host.Run(std::move(hooks), flags.quiet ? nullptr : &trials);
  signals.OnSignal(nullptr);
  if (outcome.exit_code == kExitOk) {
    lines.Say(outcome.text);
  } else {
    lines.Complain(outcome.text);
  }
  const absl::Status written = WriteReport(host, outcome, std::move(record));
  if (written.ok()) return outcome.exit_code;
  lines.Complain(written.message());
  return outcome.exit_code == kExitOk ? kExitInternal : outcome.exit_code;
}

// Everything that is wrong before the node is looked at.
absl::StatusOr<Credentials> Check(const AgentFlags& flags, const LauncherReading& launcher) {
  AB_RETURN_IF_ERROR(CheckReading(launcher));
  if (flags.coordinator.empty()) {
    return absl::InvalidArgumentError(
        "where the coordinator is, neither the launcher nor --coordinator says");
  }
  return LoadCredentials(flags.credentials, flags.config.hello.run_id);
}

int Main(int argc, char** argv) {
  SignalWatcher signals;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const LauncherReading launcher = ReadLauncher(EnvironmentFrom(environ));
  const absl::StatusOr<AgentFlags> flags = ParseAgentFlags(arguments, launcher.facts);
  ProgressLines lines("agent", flags.ok() && flags->quiet);
  const auto complain = [&lines](const absl::Status& status, int exit_code) {
    lines.Complain(absl::StrCat(
        status.message(), exit_code == kExitUsage ? "\nagent --help says what there is." : ""));
    return exit_code;
  };
  if (!flags.ok()) return complain(flags.status(), kExitUsage);
  if (!flags->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, flags->print_and_exit, "stdout");
    return written.ok() ? kExitOk : kExitInternal;
  }
  InitLog(argv[0]);
  for (const std::string& note : launcher.notes) lines.Say(WarningText(note));
  const absl::StatusOr<Credentials> credentials = Check(*flags, launcher);
  if (!credentials.ok()) return complain(credentials.status(), StartExitCode(credentials.status()));
  int exit_code = kExitInternal;
  const absl::StatusOr<std::unique_ptr<AgentHost>> host =
      AgentHost::Make(*flags, *credentials, WithoutOwnTask(launcher.facts), exit_code);
  if (!host.ok()) return complain(host.status(), exit_code);
  return Serve(**host, lines, signals);
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(argc, argv);
}
