#include "autobatch/report/banner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autobatch/report/text.h"
#include "autobatch/report/words.h"

namespace autobatch {
namespace {

std::string Version(const std::optional<std::string>& version) {
  return version.has_value() && !version->empty() ? EscapeControls(*version) : "none";
}

std::string Driver(const std::optional<std::string>& version) {
  return version.has_value() && !version->empty()
             ? absl::StrCat("NVIDIA driver ", EscapeControls(*version))
             : "no NVIDIA driver";
}

std::string VisibleDevices(const std::optional<std::string>& variable) {
  if (!variable.has_value()) return "CUDA_VISIBLE_DEVICES is not set";
  if (variable->empty()) return "CUDA_VISIBLE_DEVICES is set and empty: no GPU is visible";
  return absl::StrCat("CUDA_VISIBLE_DEVICES=", EscapeControls(*variable));
}

std::string Memory(const MemoryInfo& memory) {
  if (!memory.free_bytes.has_value() && !memory.total_bytes.has_value()) return "memory unknown";
  return absl::StrCat(BytesOr(memory.free_bytes), " free of ", BytesOr(memory.total_bytes));
}

// The framework that the trials run on. A command brings its own, whose version nobody knows before
// it runs.
std::string Framework(const HostFacts& host, const WorkloadSpec& workload) {
  const std::string driver = Driver(host.driver_version);
  const std::string torch = absl::StrCat("LibTorch ", Version(host.libtorch_version), ", CUDA ",
                                         Version(host.cuda_version));
  const std::string nccl = absl::StrCat("NCCL ", Version(host.nccl_version));
  return workload.kind == WorkloadKind::kCommand
             ? absl::StrCat(driver, "; the command brings its framework, autobatch's own is ",
                            torch, ", ", nccl)
             : absl::StrCat(torch, ", ", driver, ", ", nccl);
}

// Which piece of hardware it is.
std::string Identity(const Device& device) {
  std::string text;
  if (device.physical_ordinal.has_value()) {
    absl::StrAppend(&text, "physical ", *device.physical_ordinal, ", ");
  }
  absl::StrAppend(&text, EscapeControls(device.uuid));
  if (device.pci_bus_id.has_value()) {
    absl::StrAppend(&text, ", PCI ", EscapeControls(*device.pci_bus_id));
  }
  if (device.compute_capability.has_value()) {
    absl::StrAppend(&text, ", sm ", EscapeControls(*device.compute_capability));
  }
  if (device.kind == DeviceKind::kMig) absl::StrAppend(&text, ", MIG instance");
  if (device.integrated.value_or(false)) absl::StrAppend(&text, ", shares the host's memory");
  return text;
}

}  // namespace

std::string Banner(const HostFacts& host, const WorkloadSpec& workload,
                   const std::vector<Device>& devices, const std::vector<std::string>& warnings) {
  std::string text =
      absl::StrCat("autobatch ", EscapeControls(host.autobatch_version), " on ",
                   EscapeControls(host.host), ", ", EscapeControls(host.date), "\n  ",
                   Framework(host, workload), "\n  ", VisibleDevices(host.cuda_visible_devices),
                   "\n  ", workload.kind == WorkloadKind::kCommand ? "command " : "workload ",
                   WorkloadWords(workload), "\n");
  if (devices.empty()) absl::StrAppend(&text, "  no device\n");
  int width = 0;
  for (const Device& device : devices) {
    width = std::max(width, DisplayWidth(EscapeControls(device.address)));
  }
  const std::string indent(width + 4, ' ');
  for (const Device& device : devices) {
    absl::StrAppend(&text, "  ", PadRight(EscapeControls(device.address), width), "  ",
                    DeviceName(device), ", ", Memory(device.memory), "\n", indent, Identity(device),
                    "\n");
    if (!device.origin.empty()) {
      absl::StrAppend(&text, indent, "from ", EscapeControls(device.origin), "\n");
    }
    for (const ProcessUse& process : device.memory.others) {
      absl::StrAppend(&text, indent, "also used by ", ProcessWords(process), "\n");
    }
  }
  for (const std::string& warning : warnings) {
    absl::StrAppend(&text, WarningText(warning), "\n");
  }
  return text;
}

}  // namespace autobatch
