#include "autobatch/simcuda/visible.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace autobatch::simcuda {
namespace {

enum class Kind { kNumber, kGpu, kMig };

Kind KindOf(std::string_view entry) {
  if (entry.starts_with("GPU-")) return Kind::kGpu;
  if (entry.starts_with("MIG-")) return Kind::kMig;
  return Kind::kNumber;
}

// As strtol reads it: space, sign and trailing text are allowed, no digits are not.
std::optional<size_t> ReadNumber(const std::string& entry) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(entry.c_str(), &end, 10);
  if (end == entry.c_str() || errno == ERANGE || value < 0) return std::nullopt;
  return static_cast<size_t>(value);
}

std::vector<SelectedDevice> AllDevices(const std::vector<SelectableGpu>& gpus) {
  std::vector<SelectedDevice> all;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (gpus[gpu].instances.empty()) {
      all.push_back({.gpu = gpu, .instance = std::nullopt});
    } else {
      all.push_back({.gpu = gpu, .instance = 0});
    }
  }
  return all;
}

std::optional<SelectedDevice> Select(const std::string& entry, Kind kind,
                                     const std::vector<SelectableGpu>& gpus) {
  const std::vector<SelectedDevice> all = AllDevices(gpus);
  if (kind == Kind::kNumber) {
    const auto number = ReadNumber(entry);
    if (!number || *number >= all.size()) return std::nullopt;
    return all[*number];
  }
  // An identifier may be shortened as long as it fits one device alone.
  std::vector<SelectedDevice> fits;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (kind == Kind::kGpu && gpus[gpu].uuid.starts_with(entry)) fits.push_back(all[gpu]);
    for (size_t instance = 0; kind == Kind::kMig && instance < gpus[gpu].instances.size();
         ++instance) {
      if (gpus[gpu].instances[instance].starts_with(entry)) {
        fits.push_back({.gpu = gpu, .instance = instance});
      }
    }
  }
  if (fits.size() != 1) return std::nullopt;
  return fits.front();
}

// One MIG instance hides everything else.
std::vector<SelectedDevice> KeepOneInstance(std::vector<SelectedDevice> devices) {
  const auto instance = std::find_if(devices.begin(), devices.end(), [](const auto& device) {
    return device.instance.has_value();
  });
  if (instance == devices.end()) return devices;
  return {*instance};
}

}  // namespace

std::vector<SelectedDevice> SelectVisible(std::optional<std::string_view> value,
                                          const std::vector<SelectableGpu>& gpus) {
  if (!value) return KeepOneInstance(AllDevices(gpus));
  std::vector<SelectedDevice> selected;
  // The first entry's kind is all entries' kind; one of another selects nothing by it.
  const Kind kind = KindOf(*value);
  std::string_view rest = *value;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string entry(rest.substr(0, comma));
    const auto device = Select(entry, kind, gpus);
    if (!device) break;
    if (std::find(selected.begin(), selected.end(), *device) != selected.end()) return {};
    selected.push_back(*device);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return KeepOneInstance(std::move(selected));
}

}  // namespace autobatch::simcuda
