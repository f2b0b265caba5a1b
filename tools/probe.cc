// The probe of one node: the largest batch that a training step can safely take, on every device.

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/log.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/command_line.h"
#include "autobatch/probe/local_node.h"
#include "autobatch/probe/node_probe.h"
#include "autobatch/probe/node_summary.h"
#include "autobatch/probe/result_cache.h"
#include "autobatch/report/banner.h"
#include "autobatch/report/env_lines.h"
#include "autobatch/report/html.h"
#include "autobatch/report/table.h"
#include "autobatch/report/text.h"
#include "autobatch/types/json.h"
#include "tools/preload.h"
#include "tools/signal_watcher.h"
#include "tools/terminal.h"

namespace autobatch {
namespace {

int Complain(const absl::Status& status, int exit_code) {
  const std::string hint = exit_code == kExitUsage ? "\nprobe --help says what there is." : "";
  // It quotes arguments and programs; they are not to command the terminal.
  std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  for (std::string& line : lines) line = EscapeControls(line);
  WriteAll(STDERR_FILENO, absl::StrCat("probe: ", absl::StrJoin(lines, "\n"), hint, "\n"), "stderr")
      .IgnoreError();
  return exit_code;
}

// What stdout gets. FailedPrecondition where the format has nothing to say.
absl::StatusOr<std::string> Formatted(OutputFormat format, const NodeReport& report) {
  switch (format) {
    case OutputFormat::kJson:
      return ToPrettyJson(report);
    case OutputFormat::kEnv:
      return EnvLines(report);
    case OutputFormat::kTable:
      return ResultTable(report, Terminal::Width(STDOUT_FILENO, 100));
  }
  return absl::InternalError("unknown format");
}

// Writes everything asked for. An output that is lost does not keep back the others; the error
// names all that were lost.
absl::Status WriteOutputs(const CommandLine& line, const NodeReport& report) {
  std::vector<std::string> lost;
  const auto keep = [&lost](const absl::Status& status) {
    if (!status.ok()) lost.emplace_back(status.message());
  };
  if (!line.html_path.empty()) keep(WriteFileAtomically(line.html_path, HtmlReport(report)));
  const bool json_on_stdout = line.json_path == "-";
  if (!line.json_path.empty() && !json_on_stdout) {
    keep(WriteFileAtomically(line.json_path, ToPrettyJson(report)));
  }
  const absl::StatusOr<std::string> text =
      Formatted(json_on_stdout ? OutputFormat::kJson : line.format, report);
  keep(text.ok() ? WriteAll(STDOUT_FILENO, *text, "stdout") : text.status());
  // The answer for people goes where it disturbs nothing.
  const bool table_shown = !json_on_stdout && line.format == OutputFormat::kTable;
  if (!table_shown && !line.quiet) {
    keep(WriteAll(STDERR_FILENO, ResultTable(report, Terminal::Width(STDERR_FILENO, 100)),
                  "stderr"));
  } else if (!json_on_stdout && line.format == OutputFormat::kEnv) {
    keep(WriteAll(STDERR_FILENO, WarningLines(report), "stderr"));
  }
  return lost.empty() ? absl::OkStatus() : absl::DataLossError(absl::StrJoin(lost, "; "));
}

NodeReport Probe(const CommandLine& line, LocalNode& node, SignalWatcher& signals) {
  NodeReport report{.host = node.Facts(), .workload = line.probe.workload};
  report.workload.precision = WorkloadFor(line.probe, node.devices().front()).precision;
  report.warnings = node.list().warnings;
  if (!line.quiet) {
    WriteAll(STDERR_FILENO,
             Banner(report.host, report.workload, node.devices(), node.list().warnings), "stderr")
        .IgnoreError();
  }
  const std::string directory = line.probe.cache_directory.empty() ? ResultCache::DefaultDirectory()
                                                                   : line.probe.cache_directory;
  const ResultCache cache(directory);
  Terminal terminal(node.devices());
  NodeProbeParts parts = node.Parts();
  parts.observer = line.quiet ? nullptr : &terminal;
  parts.cache = line.probe.use_cache && !directory.empty() ? &cache : nullptr;
  NodeProbe probe(line.probe, node.devices(), std::move(parts));
  signals.OnSignal([&probe](int signal) {
    probe.Cancel({.kind = FailureKind::kCancelled,
                  .message = absl::StrCat("ended by signal ", signal),
                  .signal = signal});
  });
  report.devices = probe.Run();
  report.host.command_framework = node.Facts().command_framework;
  signals.OnSignal(nullptr);
  if (!line.quiet) terminal.Clear();
  Summarize(line.probe, report);
  if (signals.received() != 0) report.exit_code = kExitSignal + signals.received();
  return report;
}

absl::Status CheckCommand(const CommandLine& line, const Device& device) {
  AB_ASSIGN_OR_RETURN(const std::string warning, CheckSimulated(line.probe.workload, device));
  if (!warning.empty() && !line.quiet) {
    WriteAll(STDERR_FILENO, WarningText(warning) + "\n", "stderr").IgnoreError();
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  SignalWatcher signals;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return Complain(line.status(), kExitUsage);
  if (!line->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, line->print_and_exit, "stdout");
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  InitLog(argv[0]);

  const absl::StatusOr<std::unique_ptr<LocalNode>> node = LocalNode::Describe(line->probe);
  if (absl::IsInvalidArgument(node.status()) || absl::IsUnimplemented(node.status())) {
    return Complain(node.status(), kExitUsage);
  }
  if (absl::IsNotFound(node.status())) return Complain(node.status(), kExitNoDevice);
  if (!node.ok()) return Complain(node.status(), kExitCannotRun);

  const absl::Status reaches = CheckCommand(*line, (*node)->devices().front());
  if (!reaches.ok()) return Complain(reaches, kExitUsage);

  const NodeReport report = Probe(*line, **node, signals);
  const absl::Status written = WriteOutputs(*line, report);
  if (written.ok()) return static_cast<int>(report.exit_code);
  return Complain(written,
                  report.exit_code == kExitOk ? kExitInternal : static_cast<int>(report.exit_code));
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(argc, argv);
}
