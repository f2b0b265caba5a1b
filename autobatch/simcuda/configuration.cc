#include "autobatch/simcuda/configuration.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "autobatch/simcuda/catalogue.h"
#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLeastMemory = 64 * kMiB;
constexpr uint64_t kMostMemory = uint64_t{16} << 40;
constexpr uint64_t kMostDevices = 32;
constexpr std::string_view kCustom = "custom";
// CUDA reports totals in multiples of 64 KiB.
constexpr uint64_t kTotalGranularity = 64 << 10;

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// The catalogue's first card of that architecture, or of the nearest older one.
const Card& LikeArchitecture(int capability) {
  const Card* best = nullptr;
  for (const Card& card : Catalogue()) {
    if (card.compute_capability() > capability) continue;
    if (best == nullptr || card.compute_capability() > best->compute_capability()) best = &card;
  }
  return best == nullptr ? Catalogue().front() : *best;
}

void SetMemory(Card& card, uint64_t bytes) {
  card.total = card.lowest_total = card.highest_total =
      bytes / kTotalGranularity * kTotalGranularity;
  card.nvml_total = card.total;
}

// "8.6" -> 86
std::optional<int> ParseCapability(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  if (parts.size() != 2) return std::nullopt;
  const auto major = ParseNumber(parts[0]);
  const auto minor = ParseNumber(parts[1]);
  if (!major || !minor || *major < 5 || *major > 99 || *minor > 9) return std::nullopt;
  return static_cast<int>(10 * *major + *minor);
}

class DeviceReader {
 public:
  // The error, or "".
  std::string Read(std::string_view text, std::vector<ConfiguredDevice>& devices) {
    std::vector<std::string_view> words = Split(text, ':');
    const std::string_view id = words.front();
    words.erase(words.begin());
    if (id.empty()) return "an empty entry; the list is like rtx3090,a100-80";
    if (id == kCustom) {
      // What the architecture says comes first, whatever the order of the options.
      int capability = 80;
      for (const std::string_view word : words) {
        if (word.starts_with("sm=")) capability = ParseCapability(word.substr(3)).value_or(80);
      }
      device_.card = LikeArchitecture(capability);
      device_.card.id = kCustom;
      device_.card.name = "Simulated card";
      device_.card.context.reset();
    } else if (const Card* card = FindCard(id)) {
      device_.card = *card;
    } else {
      return UnknownCard(id);
    }
    bool has_memory = id != kCustom;
    for (const std::string_view word : words) {
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos) return Quoted(word) + " is no option such as used=4GiB";
      const std::string error = Set(Trim(word.substr(0, equals)), Trim(word.substr(equals + 1)));
      if (!error.empty()) return error;
      has_memory = has_memory || word.starts_with("memory");
    }
    if (!has_memory) return "a custom card needs its memory, such as custom:memory=24GiB";
    if (device_.used_by_others > device_.card.total) return "others use more than the card has";
    if (device_.card.context.has_value() &&
        *device_.card.context >= device_.card.total - device_.used_by_others) {
      return "a context of that size has no room on the card";
    }
    if (!slices_.empty()) {
      MigSlices parsed = ParseMig(slices_, device_.card);
      if (!parsed.error.empty()) return parsed.error;
      device_.slices = std::move(parsed.slices);
    }
    if (devices.size() + count_ > kMostDevices) {
      return "more than " + std::to_string(kMostDevices) + " devices";
    }
    devices.insert(devices.end(), count_, device_);
    return "";
  }

 private:
  std::string Set(std::string_view key, std::string_view value) {
    Card& card = device_.card;
    const std::string bad = Quoted(value) + " is no value of " + std::string(key);
    const auto bytes = ParseBytes(value);
    const auto number = ParseNumber(value);
    if (key == "memory") {
      if (!bytes) return bad + "; write it like 24GiB";
      if (*bytes < kLeastMemory || *bytes > kMostMemory) return bad + ": 64MiB to 16TiB";
      SetMemory(card, *bytes);
    } else if (key == "total") {
      if (value != "lowest" && value != "highest") return bad + ": lowest or highest";
      card.total = value == "lowest" ? card.lowest_total : card.highest_total;
    } else if (key == "used") {
      if (!bytes) return bad + "; write it like 4GiB";
      device_.used_by_others = *bytes;
    } else if (key == "context") {
      if (!bytes) return bad + "; write it like 400MiB";
      card.context = bytes;
    } else if (key == "sm") {
      const auto capability = ParseCapability(value);
      if (!capability) return bad + "; write it like 8.6";
      card.major = *capability / 10;
      card.minor = *capability % 10;
    } else if (key == "multiprocessors") {
      if (!number || *number < 1 || *number > 1024) return bad + ": 1 to 1024";
      card.multiprocessors = static_cast<int>(*number);
    } else if (key == "name") {
      if (value.empty() || value.size() > 95) return bad + ": 1 to 95 characters";
      card.name = value;
    } else if (key == "count") {
      if (!number || *number < 1 || *number > kMostDevices) return bad + ": 1 to 32";
      count_ = *number;
    } else if (key == "mig") {
      slices_ = value;
    } else {
      return "unknown option " + Quoted(key) + "; the nearest is " +
             Quoted(NearestName(key, {"memory", "total", "used", "context", "sm", "multiprocessors",
                                      "name", "count", "mig"}));
    }
    return "";
  }

  ConfiguredDevice device_;
  uint64_t count_ = 1;
  std::string slices_;
};

}  // namespace

DeviceList ParseDeviceList(std::string_view text) {
  DeviceList list;
  for (const std::string_view entry : Split(text, ',')) {
    const std::string error = DeviceReader().Read(entry, list.devices);
    if (!error.empty()) return {.devices = {}, .error = Quoted(entry) + ": " + error};
  }
  return list;
}

}  // namespace autobatch::simcuda
