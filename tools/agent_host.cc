#include "tools/agent_host.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/random_word.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/temporary_files.h"
#include "autobatch/base/version.h"
#include "autobatch/probe/node_summary.h"
#include "autobatch/probe/programs.h"
#include "autobatch/types/enum_names.h"
#include "orchestrator/dialect/device_count.h"
#include "orchestrator/nccl/child_reducer.h"
#include "orchestrator/nccl/nccl_facts.h"
#include "orchestrator/net/tls_transport.h"
#include "orchestrator/service/config_fields.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/flag_names.h"
#include "orchestrator/service/record_file.h"
#include "orchestrator/service/start_exit_code.h"
#include "orchestrator/wire/message_rules.h"
#include "tools/preload.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

// This machine's start, and the launcher's name of the node: pods of one machine are nodes of their
// own to Kubernetes.
std::string NodeId(const LauncherFacts& facts) {
  const std::string boot = ReadFile("/proc/sys/kernel/random/boot_id").value_or("");
  return absl::StrCat(absl::StripAsciiWhitespace(boot), facts.node_name.empty() ? "" : "/",
                      facts.node_name);
}

LauncherClaims ClaimsOf(const LauncherFacts& facts) {
  LauncherClaims claims;
  if (facts.dialect != Dialect::kNone) claims.launcher = EnumName(facts.dialect);
  // A count of nodes is no world size.
  if (facts.world_size_counts != WorldSizeCounts::kNodes) claims.world_size = facts.world_size;
  claims.node_count = facts.node_count;
  claims.local_world_size = facts.local_world_size;
  return claims;
}

std::vector<NamedValue> VersionsOf(const LocalNode& node) {
  std::vector<NamedValue> versions = {{"autobatch", kVersion},
                                      {"libtorch", node.worker().libtorch_version}};
  if (node.worker().nccl_version.has_value()) {
    versions.push_back({"nccl", *node.worker().nccl_version});
  }
  if (node.list().driver_version.has_value()) {
    versions.push_back({"driver", *node.list().driver_version});
  }
  return versions;
}

// Of the node's devices and programs that cannot be described.
int DescriptionExitCode(const absl::Status& status) {
  if (absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) return kExitUsage;
  return absl::IsNotFound(status) ? kExitNoDevice : kExitCannotRun;
}

}  // namespace

AgentHost::AgentHost(AgentFlags flags, const LauncherFacts& launcher)
    : flags_(std::move(flags)), timers_(Timers::Real(io_.get_executor())) {
  if (!flags_.probe.world_size.has_value() &&
      launcher.world_size_counts != WorldSizeCounts::kNodes) {
    flags_.probe.world_size = launcher.world_size;
  }
}

AgentHost::~AgentHost() = default;

absl::StatusOr<std::unique_ptr<AgentHost>> AgentHost::Make(AgentFlags flags,
                                                           const Credentials& credentials,
                                                           const LauncherFacts& launcher,
                                                           int& exit_code) {
  auto host = std::unique_ptr<AgentHost>(new AgentHost(std::move(flags), launcher));
  const auto fail = [&exit_code](absl::Status status, int code) {
    exit_code = code;
    return status;
  };
  if (absl::Status ready = host->Prepare(credentials); !ready.ok()) {
    const int code = StartExitCode(ready);
    return fail(std::move(ready), code);
  }
  if (absl::Status described = host->Describe(launcher); !described.ok()) {
    const int code = DescriptionExitCode(described);
    return fail(std::move(described), code);
  }
  if (absl::Status complete = host->CompleteHello(launcher); !complete.ok()) {
    const int code = StartExitCode(complete);
    return fail(std::move(complete), code);
  }
  return host;
}

absl::Status AgentHost::Prepare(const Credentials& credentials) {
  AB_ASSIGN_OR_RETURN(digest_, MakeSeal(credentials));
  AB_ASSIGN_OR_RETURN(lock_, FolderLock::Acquire(flags_.state_directory));
  const RecordFile record(flags_.record_path());
  for (const std::string& path : {record.path(), record.prepared_path()}) RemoveTemporariesOf(path);
  AB_ASSIGN_OR_RETURN(connector_,
                      MakeTlsConnector(tasks_, *timers_, credentials, {.speaks_first = true}));
  return absl::OkStatus();
}

absl::Status AgentHost::Describe(const LauncherFacts& launcher) {
  AB_ASSIGN_OR_RETURN(node_, LocalNode::Describe(flags_.probe, flags_.config.hello.agent));
  const auto devices = static_cast<int64_t>(node_->devices().size());
  warnings_ = node_->list().warnings;
  if (const absl::Status fits = CheckDeviceCount(launcher, devices); !fits.ok()) {
    return absl::InvalidArgumentError(fits.message());
  }
  if (std::string idle = IdleDevices(launcher, devices); !idle.empty()) {
    warnings_.push_back(std::move(idle));
  }
  const absl::StatusOr<std::string> reached =
      CheckSimulated(flags_.probe.workload, node_->devices().front());
  if (!reached.ok()) return absl::InvalidArgumentError(reached.status().message());
  if (!reached->empty()) warnings_.push_back(*reached);
  const std::string cache = flags_.probe.cache_directory.empty() ? ResultCache::DefaultDirectory()
                                                                 : flags_.probe.cache_directory;
  if (flags_.probe.use_cache && !cache.empty()) cache_ = std::make_unique<ResultCache>(cache);
  return absl::OkStatus();
}

absl::Status AgentHost::CompleteHello(const LauncherFacts& launcher) {
  AgentHello& hello = flags_.config.hello;
  const std::vector<Device>& devices = node_->devices();
  const WorkloadSpec workload = WorkloadFor(flags_.probe, devices.front());
  // For this start of the program alone.
  hello.incarnation = RandomWord();
  if (hello.boot_id.empty()) hello.boot_id = NodeId(launcher);
  bool cuda = false;
  for (const Device& device : devices) {
    hello.devices.push_back({.uuid = device.uuid,
                             .name = PlainText(device.name),
                             .total_bytes = device.memory.total_bytes});
    hello.simulated |= device.simulated;
    cuda |= device.kind != DeviceKind::kCpu;
  }
  hello.launcher = ClaimsOf(launcher);
  hello.versions = VersionsOf(*node_);
  hello.workload = PlainText(workload.name);
  AB_ASSIGN_OR_RETURN(hello.config, ConfigFields(flags_.probe, workload, digest_));
  hello.config.insert(hello.config.end(), flags_.settings.begin(), flags_.settings.end());
  if (cuda && flags_.nccl) {
    std::optional<NcclDescription> library;
    if (node_->worker().nccl_version.has_value()) {
      library = NcclDescription{.version = *node_->worker().nccl_version};
    }
    for (const auto& [name, value] : NcclFacts(ReadNcclSettings(), library)) {
      hello.config.push_back({absl::StrCat("nccl.", name), PlainText(value)});
    }
  }
  hello.config_digest = ConfigDigest(hello.config, digest_);
  return AsFlag(ValidateConfig(flags_.config));
}

void AgentHost::MakeProber(ProbeObserver* observer, const AgentHooks& hooks) {
  ProbeSpec spec = flags_.probe;
  // Who is told no number of ranks and is not alone is one of several: they hold communicators and
  // buckets.
  if (!spec.world_size.has_value()) {
    spec.world_size =
        std::max<int64_t>(flags_.alone ? 1 : 2, static_cast<int64_t>(node_->devices().size()));
  }
  CachedProberOptions options{.spec = std::move(spec),
                              .devices = node_->devices(),
                              .parts = node_->Parts(),
                              .verify = flags_.verify,
                              .release_timeout = flags_.release_timeout,
                              .say = hooks.say};
  options.parts.cache = cache_.get();
  options.parts.observer = observer;
  options.read_memory = [this](absl::string_view uuid) { return node_->ReadMemory(uuid); };
  prober_ = std::make_unique<CachedProber>(std::move(options));
  const absl::StatusOr<std::string> reduce = FindBeside("orchestrator/nccl", "reduce");
  if (!flags_.nccl || !reduce.ok()) return;
  reducer_ = NewChildReducer({.reduce = *reduce,
                              .guard = node_->programs().guard,
                              .environment = node_->programs().environment});
}

ServiceOutcome AgentHost::Run(AgentHooks hooks, ProbeObserver* observer) {
  MakeProber(observer, hooks);
  AgentServiceOptions options{.config = flags_.config,
                              .coordinator = flags_.coordinator,
                              .digest = digest_,
                              .record_path = flags_.record_path(),
                              .workers = flags_.workers,
                              .connect_timeout = flags_.connect_timeout,
                              .reduce_timeout = flags_.reduce_timeout,
                              .hooks = std::move(hooks)};
  service_ = std::make_unique<AgentService>(std::move(options),
                                            AgentParts{.io = io_,
                                                       .timers = *timers_,
                                                       .connector = *connector_,
                                                       .prober = *prober_,
                                                       .reducer = reducer_.get(),
                                                       .file_pool = files_.get_executor(),
                                                       .work_pool = work_.get_executor()});
  if (const absl::Status started = service_->Start(); !started.ok()) {
    return {.exit_code = StartExitCode(started), .text = std::string(started.message())};
  }
  asio::co_spawn(io_, Serve(), [](const std::exception_ptr& broken) {
    if (broken) std::rethrow_exception(broken);
  });
  io_.run();
  work_.join();
  files_.join();
  return outcome_;
}

asio::awaitable<void> AgentHost::Serve() {
  outcome_ = co_await service_->Run();
  tasks_.Cancel();
  co_await tasks_.Join();
}

void AgentHost::Drain(std::string reason, bool done, int exit_code) {
  asio::post(io_, [this, reason = std::move(reason), done, exit_code]() mutable {
    service_->Drain(std::move(reason), done, exit_code);
  });
}

NodeReport AgentHost::Report() const {
  NodeReport report{.host = node_->Facts(), .workload = flags_.probe.workload};
  report.workload.precision = WorkloadFor(flags_.probe, node_->devices().front()).precision;
  report.warnings = warnings_;
  if (prober_ != nullptr) report.devices = prober_->results();
  if (!report.devices.empty()) Summarize(flags_.probe, report);
  return report;
}

}  // namespace autobatch
