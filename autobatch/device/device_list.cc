#include "autobatch/device/device_list.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/cpu_device.h"
#include "autobatch/device/cuda_devices.h"
#include "autobatch/device/host_memory.h"
#include "autobatch/device/verdicts.h"

namespace autobatch {
namespace {

using Kind = DeviceRequest::Kind;

std::string Visible(const DeviceList& list) {
  return absl::StrCat(absl::StrJoin(list.visible, ", ",
                                    [](std::string* out, const Device& device) {
                                      absl::StrAppend(out, device.address, " (", device.name, ")");
                                    }),
                      list.cuda_visible_devices.has_value()
                          ? absl::StrCat(" with CUDA_VISIBLE_DEVICES=", *list.cuda_visible_devices)
                          : "");
}

// Sets `devices` to those asked for among the visible ones.
absl::Status Select(const DeviceRequest& request, DeviceList& list) {
  if (request.indices.empty()) {
    list.devices = list.visible;
    return absl::OkStatus();
  }
  list.devices.clear();
  for (const int64_t index : request.indices) {
    if (index >= static_cast<int64_t>(list.visible.size())) {
      return absl::NotFoundError(
          absl::StrCat("no device cuda:", index, "; visible are ", Visible(list)));
    }
    list.devices.push_back(list.visible[static_cast<size_t>(index)]);
  }
  return absl::OkStatus();
}

absl::Status AddCpu(const DeviceRequest& request, const DeviceSources& sources, DeviceList& list) {
  AB_ASSIGN_OR_RETURN(Device cpu,
                      CpuDevice(sources.root, sources.host_name, request.cpu_memory_limit));
  if (request.cpu_memory_limit.has_value() &&
      cpu.memory.free_bytes.value_or(0) < *request.cpu_memory_limit) {
    list.warnings.push_back(
        absl::StrCat("the CPU has less memory than the limit asked for: ", cpu.origin));
  }
  list.devices = {std::move(cpu)};
  return absl::OkStatus();
}

// No CUDA device is visible: the CPU stands in, unless CUDA was asked for.
absl::Status WithoutCuda(const DeviceRequest& request, const DeviceSources& sources,
                         absl::string_view why, DeviceList& list) {
  if (request.kind == Kind::kCuda) {
    return absl::NotFoundError(
        absl::StrCat("no CUDA device: ", why, ". To use the CPU: --device=cpu"));
  }
  list.warnings.push_back(absl::StrCat("no CUDA device, the CPU is used: ", why));
  return AddCpu(request, sources, list);
}

}  // namespace

absl::StatusOr<DeviceList> ListDevices(const DeviceRequest& request, const DeviceSources& sources) {
  DeviceList list;
  list.cuda_visible_devices = sources.getenv("CUDA_VISIBLE_DEVICES");
  if (request.kind == Kind::kCpu) {
    AB_RETURN_IF_ERROR(AddCpu(request, sources, list));
    return list;
  }
  absl::StatusOr<CudaDevices> cuda = FindCudaDevices(sources, request.own_pids);
  if (!cuda.ok()) {
    return absl::NotFoundError(absl::StrCat("no usable CUDA device: ", cuda.status().message(),
                                            ". To use the CPU meanwhile: --device=cpu"));
  }
  list.visible = std::move(cuda->visible);
  for (Device& device : list.visible) device.simulated = sources.simulated;
  list.warnings = std::move(cuda->warnings);
  list.driver_version = std::move(cuda->driver_version);
  list.cuda_driver_version = std::move(cuda->cuda_driver_version);
  if (list.visible.empty()) {
    AB_RETURN_IF_ERROR(WithoutCuda(request, sources, cuda->why_none, list));
  } else {
    AB_RETURN_IF_ERROR(Select(request, list));
  }
  return list;
}

absl::StatusOr<DeviceList> ApplyVerdict(const DeviceRequest& request, const DeviceSources& sources,
                                        DeviceList list, std::span<const Device> drivers) {
  if (list.visible.empty()) return list;
  Verdict verdict =
      CompareVerdicts(list.visible, drivers, ReadHostMemory(sources.root).available_bytes);
  list.visible = std::move(verdict.devices);
  list.warnings.insert(list.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
  if (list.visible.empty()) {
    AB_RETURN_IF_ERROR(
        WithoutCuda(request, sources, "the CUDA driver enumerates none for a child", list));
  } else {
    AB_RETURN_IF_ERROR(Select(request, list));
  }
  return list;
}

}  // namespace autobatch
