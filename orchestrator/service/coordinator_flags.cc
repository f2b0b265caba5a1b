#include "orchestrator/service/coordinator_flags.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/dialect/run_id.h"
#include "orchestrator/service/flag_names.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

constexpr unsigned kLineLength = 96;

po::options_description RunOptions() {
  po::options_description group("The run", kLineLength);
  group.add_options()("run-id", TextOption("NAME"),
                      "a name that no other job has, the same on every node (default: the "
                      "launcher's, where it has one)")("min-nodes", TextOption("N"),
                                                       "fewer nodes never train (default: 1)")(
      "max-nodes", TextOption("N"), "with so many a round starts at once (default: --min-nodes)")(
      "expect", TextOption("NAME,…"), "agents that should come: to say who is missing")(
      "max-members", TextOption("N"), "agents that may be there at once (default: 4096)")(
      "once", po::bool_switch(), "end with the first commit")(
      "failed-device", TextOption("P"),
      "a device without a batch: fail ends the run, naming it; exclude goes on without it "
      "(default: fail)")("nccl", TextOption("M"),
                         "take the minimum by NCCL too: off, prefer (where it fails, the reports "
                         "decide, and it is said) or require (default: off)");
  return group;
}

po::options_description ListenOptions() {
  po::options_description group("Where it listens", kLineLength);
  group.add_options()("bind", TextOption("ADDRESS"),
                      "one address of this machine, :: or 0.0.0.0 for all (default: ::)")(
      "port", TextOption("PORT[-PORT]"),
      "the first free one; 0: any (default: one made of the run id, as agents expect it)")(
      "address-file", TextOption("FILE"), "write host:port here once it listens")(
      "handshake-timeout", TextOption("T"),
      "from a connection to its proof, and again to its first message (default: 10s)");
  return group;
}

po::options_description LimitOptions() {
  po::options_description group("How long it waits", kLineLength);
  group.add_options()("join-timeout", TextOption("T"), "for --min-nodes (default: 600s)")(
      "last-call", TextOption("T"), "for more of them, once there are enough (default: 5s)")(
      "heartbeat", TextOption("T"), "how often agents say that they live (default: 1s)")(
      "lost-after", TextOption("N"), "heartbeats without progress: it is lost (default: 5)")(
      "reconnect-grace", TextOption("N"),
      "heartbeats for an agent whose connection broke to come back (default: 2)")(
      "report-timeout", TextOption("T"), "for everybody's probe (default: 3600s)")(
      "reduce-timeout", TextOption("T"), "for one attempt of NCCL (default: 120s)")(
      "reduce-attempts", TextOption("N"), "attempts of NCCL in a round (default: 2)")(
      "commit-timeout", TextOption("T"),
      "for everybody to keep the record, and again to confirm (default: 10s)");
  return group;
}

po::options_description OutputOptions() {
  po::options_description group("State and output", kLineLength);
  group.add_options()("state-dir", TextOption("DIR"),
                      "where rounds outlast a restart (default: autobatch-RUN-ID here)")(
      "record", TextOption("FILE"), "write the record of each commit here")(
      "json", TextOption("FILE|-"), "write every round's outcome, report and straggler")(
      "quiet,q", po::bool_switch(), "no progress on stderr")("verbose", po::bool_switch(),
                                                             "log what is decided, to stderr")(
      "help,h", po::bool_switch(), "this text")("version", po::bool_switch(), "the version");
  return group;
}

po::options_description AllOptions() {
  po::options_description all;
  return std::move(all.add(RunOptions())
                       .add(CredentialOptions())
                       .add(PlanOptions())
                       .add(ListenOptions())
                       .add(LimitOptions())
                       .add(OutputOptions()));
}

std::string HelpText() {
  std::ostringstream text;
  text << "coordinator: gathers the agents of a run, and commits what every one of its GPUs may "
          "load.\n\n"
          "  coordinator --run-id job7 --secret-file secret --min-nodes 3 --max-nodes 4\n"
          "  coordinator --run-id job7 --secret-file secret --min-nodes 2 --rule exact "
          "--global-batch 512\n\n"
          "Every node of the job runs an agent with the same run id and secret. A round collects "
          "their\nreports, and commits one record: the safe batch, and a row of the plan for every "
          "world size.\nWhen a node is lost or joins, the next round follows from what is known.\n"
          "Ended by a signal, it ends its agents (their exit status: 8), and what trains goes on; "
          "killed, it may be\nstarted again with the same --state-dir, and its rounds go on.\n"
       << AllOptions()
       << "\nExit status:\n"
          "  0  done                                7  no agreement: too few nodes, answers "
          "differ\n"
          "  1  internal error, or output lost      8  too many agents were lost\n"
          "  2  wrong usage                         9  not authorised\n"
          "  4  nothing fits, or a device failed    128 + n  ended by signal n\n";
  return text.str();
}

void ReadConfig(FlagReader& read, CoordinatorConfig& config) {
  read.Read("min-nodes", config.min_nodes, WholeNumber);
  config.max_nodes = config.min_nodes;
  read.Read("max-nodes", config.max_nodes, WholeNumber);
  std::string expected;
  read.Text("expect", expected);
  config.expected = absl::StrSplit(expected, ',', absl::SkipEmpty());
  read.Read("max-members", config.max_members, WholeNumber);
  config.once = read.Switch("once");
  read.Enum("failed-device", config.failed_device);
  read.Enum("nccl", config.reduce);
  read.Read("join-timeout", config.join_timeout, TimeSpan);
  read.Read("last-call", config.last_call, TimeSpan);
  read.Read("heartbeat", config.heartbeat, TimeSpan);
  read.Read("lost-after", config.lost_after, WholeNumber);
  read.Read("reconnect-grace", config.reconnect_grace, WholeNumber);
  read.Read("report-timeout", config.report_timeout, TimeSpan);
  read.Read("reduce-timeout", config.reduce_timeout, TimeSpan);
  read.Read("reduce-attempts", config.reduce_attempts, WholeNumber);
  read.Read("commit-timeout", config.commit_timeout, TimeSpan);
}

void ReadOutputs(FlagReader& read, CoordinatorFlags& flags) {
  const auto path = [&read](const char* name, std::string& out) {
    read.Text(name, out);
    if (!out.empty() && out != "-") out = ResolveUserPath(out);
  };
  path("address-file", flags.address_file);
  path("record", flags.record_file);
  path("json", flags.json_path);
  flags.state_directory = absl::StrCat("autobatch-", flags.config.run_id);
  path("state-dir", flags.state_directory);
  flags.state_directory = ResolveUserPath(flags.state_directory);
  flags.quiet = read.Switch("quiet");
  flags.verbose = read.Switch("verbose");
}

}  // namespace

absl::StatusOr<CoordinatorFlags> ParseCoordinatorFlags(std::span<const std::string> arguments,
                                                       const LauncherFacts& launcher) {
  AB_ASSIGN_OR_RETURN(
      const po::variables_map values,
      ParseFlags(AllOptions(), arguments, "the coordinator takes options only: see --help"));
  CoordinatorFlags flags;
  FlagReader read(values);
  if (read.Switch("help")) flags.print_and_exit = HelpText();
  if (read.Switch("version")) flags.print_and_exit = absl::StrCat("autobatch ", kVersion, "\n");
  if (!flags.print_and_exit.empty()) return flags;

  std::string run_id;
  read.Text("run-id", run_id);
  AB_ASSIGN_OR_RETURN(flags.config.run_id, ChooseRunId(run_id, launcher));
  const auto port = static_cast<uint16_t>(PortOfRun(flags.config.run_id));
  flags.ports = {port, port};
  read.Text("bind", flags.bind_address);
  read.Read("port", flags.ports, ParsePortRange);
  read.Read("handshake-timeout", flags.handshake_timeout, TimeSpan);
  ReadConfig(read, flags.config);
  ReadOutputs(read, flags);
  AB_RETURN_IF_ERROR(read.status());
  if (flags.handshake_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--handshake-timeout: a time above zero is needed");
  }
  AB_RETURN_IF_ERROR(ReadCredentialFlags(read, flags.credentials));
  AB_RETURN_IF_ERROR(ReadPlanFlags(read, flags.plan));
  AB_RETURN_IF_ERROR(AsFlag(ValidateConfig(flags.config)));
  return flags;
}

}  // namespace autobatch
