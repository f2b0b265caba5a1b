#include "autobatch/probe/local_node.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/files.h"
#include "autobatch/base/host_name.h"
#include "autobatch/base/scratch_folder.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"
#include "autobatch/probe/programs.h"
#include "autobatch/trial/command_trial_runner.h"

namespace autobatch {
namespace {

// A cold disk takes a minute to bring CUDA's libraries.
constexpr absl::Duration kDescribeTimeout = absl::Minutes(3);

absl::string_view FirstLine(absl::string_view text) { return text.substr(0, text.find('\n')); }

std::optional<std::string> Known(const std::string& version) {
  return version.empty() ? std::nullopt : std::make_optional(version);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalNode>> LocalNode::Describe(const ProbeSpec& spec,
                                                               const std::string& name) {
  auto node = std::unique_ptr<LocalNode>(new LocalNode);
  node->spec_ = spec;
  AB_ASSIGN_OR_RETURN(DeviceRequest request, ParseDeviceRequest(spec.devices));
  // Each trial of a command makes one: that none can be made is no trial's failure.
  if (spec.workload.kind == WorkloadKind::kCommand) {
    AB_RETURN_IF_ERROR(ScratchFolder::Create().status());
  }
  request.cpu_memory_limit = spec.memory_limit_bytes;
  AB_ASSIGN_OR_RETURN(node->programs_, FindPrograms());
  if (!request.simulated.empty()) {
    AB_ASSIGN_OR_RETURN(node->simulation_,
                        Simulation::Start(request.simulated, name, node->programs_));
  }
  DeviceSources sources = node->Sources();
  if (!name.empty()) sources.host_name = name;
  AB_ASSIGN_OR_RETURN(node->list_, ListDevices(request, sources));
  absl::StatusOr<WorkerDescription> worker =
      DescribeWorker(node->programs_, Add(Clock::Real().Now(), kDescribeTimeout));
  if (worker.ok()) {
    node->worker_ = *std::move(worker);
    AB_ASSIGN_OR_RETURN(
        node->list_, ApplyVerdict(request, sources, std::move(node->list_), node->worker_.devices));
  } else if (spec.workload.kind == WorkloadKind::kCommand) {
    // A command brings its own framework; only the second opinion on the GPUs is missing.
    const std::vector<Device>& devices = node->list_.devices;
    const bool has_gpu = std::any_of(devices.begin(), devices.end(), [](const Device& device) {
      return device.kind != DeviceKind::kCpu;
    });
    if (has_gpu) {
      node->list_.warnings.push_back(absl::StrCat(
          "the worker does not start here, so that the driver was not asked which devices are "
          "visible: ",
          FirstLine(worker.status().message())));
    }
  } else {
    return worker.status();
  }
  AB_RETURN_IF_ERROR(CheckScope(spec, node->list_.devices));
  node->memory_ = std::make_unique<DeviceMemoryReader>(std::move(sources.nvml));
  return node;
}

DeviceSources LocalNode::Sources() const {
  return simulation_ == nullptr ? RealDeviceSources()
                                : SimulatedDeviceSources(simulation_->driver_folder());
}

HostFacts LocalNode::Facts() const {
  MutexLock lock(framework_mutex_);
  return {.date = absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::LocalTimeZone()),
          .host = HostName(),
          .autobatch_version = kVersion,
          .libtorch_version = Known(worker_.libtorch_version),
          .cuda_version = worker_.cuda_version,
          .driver_version = list_.driver_version,
          .nccl_version = worker_.nccl_version,
          .command_framework = Known(command_framework_),
          .cuda_visible_devices = list_.cuda_visible_devices};
}

NodeProbeParts LocalNode::Parts() {
  NodeProbeParts parts{.driver_version = list_.driver_version.value_or(""),
                       .libtorch_version = worker_.libtorch_version};
  parts.make_runner = [this](const Device& device, const WorkloadSpec& workload) {
    if (workload.kind == WorkloadKind::kCommand) {
      return NewCommandTrialRunner(CommandOptions({device}, workload));
    }
    return NewWorkerTrialRunner({.programs = programs_, .device = device, .workload = workload});
  };
  parts.make_node_runner = [this](const std::vector<Device>& all, const WorkloadSpec& workload) {
    return NewNodeTrialRunner(CommandOptions(all, workload));
  };
  return parts;
}

CommandTrialOptions LocalNode::CommandOptions(std::vector<Device> devices,
                                              const WorkloadSpec& workload) {
  return {.guard = programs_.guard,
          // Without it, as in an incomplete installation, the driver's view is left.
          .observer = FindBeside("autobatch/observer", "libobserver.so").value_or(""),
          .environment = programs_.environment,
          .working_directory = std::filesystem::absolute(ResolveUserPath(".")).string(),
          .devices = std::move(devices),
          .workload = workload,
          .world_size = WorldSize(spec_, static_cast<int64_t>(list_.devices.size())),
          .read_device_memory = [this](const Device& device) { return memory_->Read(device.uuid); },
          .saw_framework =
              [this](const std::string& framework) {
                MutexLock lock(framework_mutex_);
                command_framework_ = framework;
              }};
}

}  // namespace autobatch
