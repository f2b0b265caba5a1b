#include "orchestrator/service/agent_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/host_name.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/command_line.h"
#include "autobatch/probe/command_line_options.h"
#include "autobatch/probe/flag_group.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/dialect/discovery.h"
#include "orchestrator/dialect/run_id.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

po::options_description RunOptions() {
  return FlagGroup("The run, and this agent's place in it")
      .Value("run-id", "NAME",
             "a name that no other job has, the same on every node (default: the launcher's, where "
             "it has one)")
      .Value("coordinator", "HOST[:PORT],…",
             "where it is (default: the launcher's rank 0, else the first host of the job; the "
             "port is made of the run id)")
      .Value("name", "NAME",
             "of this agent, like no other's (default: the launcher's name of this node, else the "
             "host's)")
      .Value("node-id", "ID",
             "agents with the same one are one node (default: this machine's boot id, and the "
             "launcher's name of the node)")
      .Value("node-rank", "N", "of this node (default: the launcher's)")
      .Values("config", "NAME=VALUE",
              "a setting of yours that must be the same on all nodes; once for each")
      .Switch("once", "end with the first commit");
}

po::options_description RoundOptions() {
  return FlagGroup("Rounds")
      .Value("verify", "P",
             "a device whose driver, workload and settings have not changed: first believes its "
             "earlier answer, always runs it once more in every round, never runs nothing at all "
             "(default: first)")
      .Switch("no-nccl", "take no part in a minimum over NCCL")
      .Value("join-timeout", "T", "until the coordinator has let it in (default: 600s)")
      .Value("connect-timeout", "T",
             "for one attempt: resolve, connect, authenticate (default: 10s)")
      .Value("hello-timeout", "T", "for the coordinator's answer to its hello (default: 10s)")
      .Value("lost-timeout", "T", "without the coordinator before a commit (default: 7s)")
      .Value("rejoin-timeout", "T", "and after one (default: 600s)")
      .Value("duplicate-patience", "T",
             "while another agent has its name, rank or device (default: 7s)")
      .Value("reduce-timeout", "T", "for its part in a minimum over NCCL (default: 120s)")
      .Value("release-timeout", "T",
             "for a job's processes to let go of a GPU before it is probed (default: 30s)");
}

po::options_description PlaceOptions() {
  return FlagGroup("State, workers and output")
      .Value(
          "state-dir", "DIR",
          "where record.json is left (default: $XDG_RUNTIME_DIR/autobatch/RUN-ID, else below /tmp)")
      .Value("socket", "PATH",
             "where training processes ask for their share (default: agent.sock in --state-dir)")
      .Value("socket-mode", "MODE",
             "of the socket, octal; 666: other users' processes too (default: 600)")
      .Value("max-workers", "N", "served at the same time (default: 256)")
      .Value("json", "FILE|-", "write what every device reported")
      .Switch("no-cache", "do not use or keep earlier answers of other runs")
      .Value("cache-dir", "DIR", "where they are (default: $XDG_CACHE_HOME/autobatch/results)")
      .Switch("quiet,q", "no progress on stderr")
      .HelpAndVersion();
}

std::string AgentHelpText() {
  std::ostringstream text;
  text << "agent: probes the GPUs of its node, agrees with the others of its run on what each may "
          "load,\nand hands the training processes their shares.\n\n"
          "  agent --run-id job7 --secret-file secret --coordinator node1\n"
          "  agent --run-id job7 --secret-file secret --coordinator node1 --workload gpt2\n"
          "  srun --ntasks-per-node=1 agent --secret-file secret -- python train.py --batch "
          "{batch}\n\n"
          "It stays for as long as the job runs: when a node is lost or joins, it answers the next "
          "round from\nwhat it knows. Training starts on record.json, which is there from a "
          "round's commit to the next\nround, or asks at the socket (see launch --worker). An "
          "agent that "
          "ends takes it away, unless it ended well\n(--once, or the job is done): others may have "
          "agreed anew by the time that it is read.\n"
       << AgentOptions() << ProbeOptions()
       << "\nExit status:\n"
          "  0  done                                6  time was up before any batch was "
          "confirmed\n"
          "  1  internal error, or output lost      7  no agreement\n"
          "  2  wrong usage                         8  the coordinator was lost\n"
          "  3  no device                           9  not authorised\n"
          "  4  nothing fits, or a device failed    128 + n  ended by signal n\n"
          "  5  the workload cannot run\n";
  return text.str();
}

// The agent's own arguments, and those that are a probe's.
struct SplitArguments {
  po::variables_map own;
  std::vector<std::string> probe;
};

absl::StatusOr<SplitArguments> Split(std::span<const std::string> arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  po::options_description all = AgentOptions();
  all.add(ProbeOptions());
  // Unknown ones, empty ones and misplaced arguments are named here, with all there is to offer.
  const std::vector<std::string> given(arguments.begin(), dashes);
  AB_RETURN_IF_ERROR(
      ParseFlags(all, given,
                 "a workload is named by --workload NAME, a command of your own follows '--'")
          .status());
  const po::options_description own = AgentOptions();
  const po::parsed_options parsed =
      po::command_line_parser(given)
          .options(own)
          .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
          .allow_unregistered()
          .run();
  SplitArguments split;
  po::store(parsed, split.own);
  split.probe = po::collect_unrecognized(parsed.options, po::include_positional);
  split.probe.insert(split.probe.end(), dashes, arguments.end());
  return split;
}

absl::StatusOr<std::vector<HostPort>> Coordinators(const std::string& given, uint16_t port,
                                                   const LauncherFacts& launcher) {
  std::vector<HostPort> hosts;
  for (absl::string_view text : absl::StrSplit(given, ',', absl::SkipEmpty())) {
    AB_ASSIGN_OR_RETURN(HostPort host, ParseHostPort(text, port));
    hosts.push_back(std::move(host));
  }
  if (!hosts.empty()) return hosts;
  absl::StatusOr<Discovered> found =
      DiscoverCoordinator({.node_count = launcher.node_count}, launcher);
  if (!found.ok()) return hosts;
  hosts.push_back({.host = found->host, .port = port});
  return hosts;
}

absl::StatusOr<NamedValue> Setting(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config: '", text, "' is not NAME=VALUE, such as dataset=imagenet"));
  }
  // Kept apart from ours.
  return NamedValue{absl::StrCat("user.", text.substr(0, equals)), text.substr(equals + 1)};
}

absl::StatusOr<mode_t> Mode(const std::string& text) {
  char* end = nullptr;
  const unsigned long mode = std::strtoul(text.c_str(), &end, 8);
  if (end == text.c_str() || *end != '\0' || mode > 0777) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no mode of a file, such as 600 or 666"));
  }
  return static_cast<mode_t>(mode);
}

void ReadLimits(FlagReader& read, AgentFlags& flags) {
  AgentConfig& config = flags.config;
  config.once = read.Switch("once");
  read.Enum("verify", flags.verify);
  flags.nccl = !read.Switch("no-nccl");
  read.Read("join-timeout", config.join_timeout, TimeSpan);
  read.Read("connect-timeout", flags.connect_timeout, TimeSpan);
  read.Read("hello-timeout", config.hello_timeout, TimeSpan);
  read.Read("lost-timeout", config.lost_timeout, TimeSpan);
  read.Read("rejoin-timeout", config.rejoin_timeout, TimeSpan);
  read.Read("duplicate-patience", config.duplicate_patience, TimeSpan);
  read.Read("reduce-timeout", flags.reduce_timeout, TimeSpan);
  read.Read("release-timeout", flags.release_timeout, TimeSpan);
}

void ReadPlaces(FlagReader& read, AgentFlags& flags) {
  // Training may start elsewhere: what it is handed holds everywhere.
  const auto path = [&read](const char* name, std::string& out) {
    read.Path(name, out);
    if (!out.empty()) out = std::filesystem::absolute(out).string();
  };
  flags.state_directory = DefaultAgentDirectory(flags.config.hello.run_id);
  path("state-dir", flags.state_directory);
  flags.workers.path = flags.state_directory + "/agent.sock";
  path("socket", flags.workers.path);
  read.Read("socket-mode", flags.workers.mode, Mode);
  int64_t workers = static_cast<int64_t>(flags.workers.max_clients);
  read.Read("max-workers", workers, WholeNumber);
  flags.workers.max_clients = static_cast<size_t>(std::max<int64_t>(1, workers));
  read.Output("json", flags.json_path);
  flags.quiet = read.Switch("quiet");
}

absl::Status ReadIdentity(FlagReader& read, const LauncherFacts& launcher, AgentFlags& flags) {
  AgentHello& hello = flags.config.hello;
  read.Text("run-id", hello.run_id);
  AB_ASSIGN_OR_RETURN(hello.run_id, ChooseRunId(hello.run_id, launcher));
  hello.agent = launcher.node_name.empty() ? HostName() : launcher.node_name;
  read.Text("name", hello.agent);
  read.Text("node-id", hello.boot_id);
  hello.node_rank = launcher.node_rank;
  read.Read("node-rank", hello.node_rank, WholeNumber);
  for (const std::string& text : read.Texts("config")) {
    AB_ASSIGN_OR_RETURN(NamedValue setting, Setting(text));
    flags.settings.push_back(std::move(setting));
  }
  std::string coordinator;
  read.Text("coordinator", coordinator);
  const absl::StatusOr<std::vector<HostPort>> hosts =
      Coordinators(coordinator, static_cast<uint16_t>(PortOfRun(hello.run_id)), launcher);
  if (!hosts.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--coordinator: ", hosts.status().message()));
  }
  flags.coordinator = *hosts;
  return read.status();
}

}  // namespace

po::options_description AgentOptions() {
  po::options_description all;
  return std::move(
      all.add(RunOptions()).add(CredentialOptions()).add(RoundOptions()).add(PlaceOptions()));
}

std::string DefaultAgentDirectory(const std::string& run_id) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr && *runtime != '\0'
             ? absl::StrCat(runtime, "/autobatch/", run_id)
             : absl::StrCat("/tmp/autobatch-", getuid(), "/", run_id);
}

absl::StatusOr<AgentFlags> ParseAgentFlags(std::span<const std::string> arguments,
                                           const LauncherFacts& launcher) {
  AB_ASSIGN_OR_RETURN(const SplitArguments split, Split(arguments));
  AgentFlags flags;
  FlagReader read(split.own);
  flags.print_and_exit = HelpOrVersion(split.own, AgentHelpText);
  if (!flags.print_and_exit.empty()) return flags;

  AB_ASSIGN_OR_RETURN(const CommandLine probe, ParseCommandLine(split.probe));
  flags.probe = probe.probe;
  flags.probe.use_cache = !read.Switch("no-cache");
  read.Path("cache-dir", flags.probe.cache_directory);
  AB_RETURN_IF_ERROR(ReadIdentity(read, launcher, flags));
  ReadLimits(read, flags);
  ReadPlaces(read, flags);
  AB_RETURN_IF_ERROR(read.status());
  AB_RETURN_IF_ERROR(ReadCredentialFlags(read, flags.credentials));
  return flags;
}

}  // namespace autobatch
