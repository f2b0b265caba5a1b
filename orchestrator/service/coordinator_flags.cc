#include "orchestrator/service/coordinator_flags.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/flag_group.h"
#include "autobatch/probe/flag_reader.h"
#include "autobatch/types/enum_names.h"
#include "orchestrator/dialect/run_id.h"
#include "orchestrator/net/advertise_address.h"
#include "orchestrator/service/flag_names.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

po::options_description RunOptions() {
  return FlagGroup("The run")
      .Value("run-id", "NAME",
             "a name that no other job has, the same on every node (default: the launcher's, where "
             "it has one)")
      .Value("min-nodes", "N", "fewer nodes never train (default: 1)")
      .Value("max-nodes", "N", "with so many a round starts at once (default: --min-nodes)")
      .Value("expect", "NAME,…", "agents that should come: to say who is missing")
      .Value("max-members", "N", "agents that may be there at once (default: 4096)")
      .Switch("once", "end with the first commit")
      .Value("failed-device", "P",
             "a device without a batch: fail ends the run, naming it; exclude goes on without it "
             "(default: fail)")
      .Value("nccl", "M",
             "take the minimum by NCCL too: off, prefer (where it fails, the reports decide, and "
             "it is said) or require (default: off)");
}

po::options_description ListenOptions() {
  return FlagGroup("Where it listens")
      .Value("bind", "ADDRESS", "one address of this machine, :: or 0.0.0.0 for all (default: ::)")
      .Value("port", "PORT[-PORT]",
             "the first free one; 0: any (default: one made of the run id, as agents expect it)")
      .Value("advertise-address", "HOST[:PORT]",
             "where other nodes reach it, if that is not what it binds, as behind a forwarded port "
             "(default: its address on the network)")
      .Value("address-file", "FILE", "write where other nodes reach it here, once it listens")
      .Value("handshake-timeout", "T",
             "from a connection to its proof, and again to its first message (default: 10s)");
}

po::options_description OutputOptions() {
  return FlagGroup("State and output")
      .Value("state-dir", "DIR", "where rounds outlast a restart (default: autobatch-RUN-ID here)")
      .Value("record", "FILE", "write the record of each commit here")
      .Value("json", "FILE|-", "write every round's outcome, report and straggler")
      .Switch("quiet,q", "no progress on stderr")
      .HelpAndVersion();
}

po::options_description AllOptions() {
  po::options_description all;
  return std::move(all.add(RunOptions())
                       .add(CredentialOptions())
                       .add(PlanOptions())
                       .add(ListenOptions())
                       .add(CoordinatorLimits())
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
          "killed, it may be\nstarted again with the same --state-dir, and its rounds go on. With "
          "other options it names "
          "what\nchanged, and a new round begins once its nodes are back.\n"
       << AllOptions()
       << "\nExit status:\n"
          "  0  done                                7  no agreement: too few nodes, answers "
          "differ\n"
          "  1  internal error, or output lost      8  too many agents were lost\n"
          "  2  wrong usage                         9  not authorised\n"
          "  4  nothing fits, or a device failed    128 + n  ended by signal n\n";
  return text.str();
}

// Without a port: that which is bound.
absl::StatusOr<HostPort> OutsideAddress(const std::string& text) {
  AB_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(text, 0));
  AB_ASSIGN_OR_RETURN(address.host, AdvertiseAddress({.advertise = address.host}));
  return address;
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
  read.Output("address-file", flags.address_file);
  read.Output("record", flags.record_file);
  read.Output("json", flags.json_path);
  flags.state_directory = absl::StrCat("autobatch-", flags.config.run_id);
  read.Path("state-dir", flags.state_directory);
  flags.quiet = read.Switch("quiet");
}

}  // namespace

po::options_description CoordinatorLimits() {
  return FlagGroup("How long it waits")
      .Value("join-timeout", "T", "for --min-nodes (default: 600s)")
      .Value("last-call", "T", "for more of them, once there are enough (default: 5s)")
      .Value("heartbeat", "T", "how often agents say that they live (default: 1s)")
      .Value("lost-after", "N", "heartbeats without progress: it is lost (default: 5)")
      .Value("reconnect-grace", "N",
             "heartbeats for an agent whose connection broke to come back (default: 3)")
      .Value("report-timeout", "T", "for everybody's probe (default: 3600s)")
      .Value("reduce-timeout", "T", "for one attempt of NCCL (default: 120s)")
      .Value("reduce-attempts", "N", "attempts of NCCL in a round (default: 2)")
      .Value("commit-timeout", "T",
             "for everybody to keep the record, and again to confirm (default: 10s)");
}

absl::StatusOr<CoordinatorFlags> ParseCoordinatorFlags(std::span<const std::string> arguments,
                                                       const LauncherFacts& launcher) {
  AB_ASSIGN_OR_RETURN(
      const po::variables_map values,
      ParseFlags(AllOptions(), arguments, "the coordinator takes options only: see --help"));
  CoordinatorFlags flags;
  FlagReader read(values);
  flags.print_and_exit = HelpOrVersion(values, HelpText);
  if (!flags.print_and_exit.empty()) return flags;

  std::string run_id;
  read.Text("run-id", run_id);
  AB_ASSIGN_OR_RETURN(flags.config.run_id, ChooseRunId(run_id, launcher));
  const auto port = static_cast<uint16_t>(PortOfRun(flags.config.run_id));
  flags.ports = {port, port};
  read.Text("bind", flags.bind_address);
  read.Read("port", flags.ports, ParsePortRange);
  read.Read("advertise-address", flags.advertise_address, OutsideAddress);
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
  flags.config.options = PlanFlagValues(flags.plan);
  flags.config.options.push_back({"--failed-device", EnumName(flags.config.failed_device)});
  flags.config.options.push_back({"--nccl", EnumName(flags.config.reduce)});
  return flags;
}

}  // namespace autobatch
