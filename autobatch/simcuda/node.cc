#include "autobatch/simcuda/node.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>

#include "autobatch/simcuda/configuration.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/text.h"
#include "autobatch/simcuda/visible.h"

namespace autobatch::simcuda {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// The driver puts the GPU that it takes for the fastest first, and the others in order of the bus.
std::vector<size_t> CudaOrder(const std::vector<ConfiguredDevice>& devices) {
  std::vector<size_t> order(devices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (Environment("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" || order.empty()) return order;
  const auto speed = [&](size_t i) {
    return devices[i].card.multiprocessors * CoresPerMultiprocessor(devices[i].card);
  };
  const auto fastest = std::max_element(order.begin(), order.end(),
                                        [&](size_t a, size_t b) { return speed(a) < speed(b); });
  std::rotate(order.begin(), fastest, fastest + 1);
  return order;
}

}  // namespace

Node& Node::Get() {
  static Node* const node = new Node;
  return *node;
}

Node::Node() : name_(Environment("AUTOBATCH_SIM_NODE").value_or(HostName())) {
  ReadDriver();
  ReadFaults();
  ReadModel();
  MakeGpus();
}

void Node::Fail(const std::string& why) {
  std::fprintf(stderr, "simcuda: %s; there are no devices\n", why.c_str());
  gpus_.clear();
  visible_.clear();
}

void Node::ReadDriver() {
  const std::optional<std::string> text = Environment("AUTOBATCH_SIM_DRIVER");
  if (!text) {
    driver_version_ = RuntimeVersion();
    return;
  }
  const std::vector<std::string_view> parts = Split(*text, '.');
  driver_version_ =
      static_cast<int>(1000 * ParseNumber(parts.front()).value_or(0) +
                       (parts.size() > 1 ? 10 * ParseNumber(parts[1]).value_or(0) : 0));
}

void Node::ReadFaults() {
  const ParsedFaults faults = ParseFaults(Environment("AUTOBATCH_SIM_FAULTS").value_or(""));
  if (!faults.error.empty()) {
    // A test whose fault is misspelt must not pass.
    std::fprintf(stderr, "simcuda: AUTOBATCH_SIM_FAULTS: %s\n", faults.error.c_str());
    std::_Exit(2);
  }
  faults_ = faults.plan;
}

void Node::ReadModel() {
  const std::optional<std::string> path = Environment("AUTOBATCH_SIM_CALIBRATION");
  if (!path || path->empty()) return;
  std::ifstream file(*path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const CalibratedModel calibrated = Calibrate(text);
  const std::string error = !file ? "cannot be read" : calibrated.error;
  if (!error.empty()) {
    std::fprintf(stderr, "simcuda: %s: %s; the figures stay uncalibrated\n", path->c_str(),
                 error.c_str());
    return;
  }
  model_ = calibrated.model;
}

void Node::MakeGpus() {
  const std::string text = Environment("AUTOBATCH_SIM_DEVICES").value_or("");
  const std::string folder = Environment("AUTOBATCH_SIM_SHARED").value_or("");
  usage_ = std::make_unique<SharedUsage>(folder.empty() ? "" : folder + "/use-" + name_);
  if (text.empty()) return Fail("AUTOBATCH_SIM_DEVICES is not set");
  const DeviceList list = ParseDeviceList(text);
  if (!list.error.empty()) return Fail("AUTOBATCH_SIM_DEVICES: " + list.error);
  if (driver_version_ < 1000) return Fail("AUTOBATCH_SIM_DRIVER is no version such as 12.4");

  for (size_t i = 0; i < list.devices.size(); ++i) {
    const ConfiguredDevice& configured = list.devices[i];
    const int bus = static_cast<int>(i);
    DeviceSetup setup = {.card = configured.card,
                         .bus = bus,
                         .instance = std::nullopt,
                         .uuid = MakeUuid(name_, kIdentifiersPerGpu * bus),
                         .used_by_others = configured.used_by_others,
                         .context = model_.Context(configured.card, driver_version_),
                         .spill = faults_.spill};
    Gpu gpu;
    gpu.device = std::make_unique<Device>(setup, *usage_);
    for (size_t k = 0; k < configured.slices.size(); ++k) {
      setup.card = configured.slices[k].card;
      setup.instance = static_cast<int>(k);
      setup.uuid = MakeUuid(name_, kIdentifiersPerGpu * bus + 1 + static_cast<int>(k));
      setup.context = model_.Context(setup.card, driver_version_);
      setup.used_by_others = 0;
      gpu.instances.push_back(std::make_unique<Device>(setup, *usage_));
      gpu.profiles.push_back(configured.slices[k].profile);
    }
    gpus_.push_back(std::move(gpu));
  }
  const std::vector<size_t> order = CudaOrder(list.devices);
  std::vector<SelectableGpu> selectable;
  for (const size_t i : order) {
    SelectableGpu gpu = {.uuid = gpus_[i].device->UuidText(), .instances = {}};
    for (const auto& instance : gpus_[i].instances) gpu.instances.push_back(instance->UuidText());
    selectable.push_back(std::move(gpu));
  }
  for (const SelectedDevice& device :
       SelectVisible(Environment("CUDA_VISIBLE_DEVICES"), selectable)) {
    const Gpu& gpu = gpus_[order[device.gpu]];
    visible_.push_back(device.instance ? gpu.instances[*device.instance].get() : gpu.device.get());
  }
}

Device* Node::Visible(int ordinal) const {
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= visible_.size()) return nullptr;
  return visible_[static_cast<size_t>(ordinal)];
}

int Node::OrdinalOf(const Device* device) const {
  const auto found = std::find(visible_.begin(), visible_.end(), device);
  return found == visible_.end() ? -1 : static_cast<int>(found - visible_.begin());
}

Device* Node::OwnerOf(const void* address) const {
  for (Device* const device : visible_) {
    if (device->Owns(address)) return device;
  }
  return nullptr;
}

std::string Node::DriverName() const {
  // The driver branches that brought those versions.
  if (driver_version_ >= 13000) return "580.65.06";
  if (driver_version_ >= 12080) return "570.86.10";
  if (driver_version_ >= 12040) return "550.54.14";
  if (driver_version_ >= 12000) return "525.60.13";
  if (driver_version_ >= 11070) return "515.43.04";
  return "450.80.02";
}

}  // namespace autobatch::simcuda
