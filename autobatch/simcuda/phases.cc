#include "autobatch/simcuda/phases.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

std::atomic<Phase> present = Phase::kSetup;

struct DevicePeaks {
  Device* device = nullptr;
  std::array<uint64_t, kPhases> peaks = {};
};

struct Report {
  std::string path;
  std::mutex mutex;
  // A forked child has nothing to say of its parent's memory.
  pid_t pid = 0;
  // By place on the bus and instance.
  std::map<std::pair<int, int>, DevicePeaks> devices;
};

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= ' ') quoted += c;
  }
  return quoted + '"';
}

// Made at the first allocation, when the program is up; null where nobody asked.
Report* TheReport();

void WriteReport() {
  Report& report = *TheReport();
  if (report.pid != getpid()) return;
  const std::lock_guard lock(report.mutex);
  std::string line = "{\"pid\": " + std::to_string(getpid()) + ", \"devices\": [";
  const char* separator = "";
  for (const auto& [place, entry] : report.devices) {
    const auto& [device, peaks] = entry;
    line += separator;
    line += "{\"bus\": " + std::to_string(device->bus()) +
            ", \"uuid\": " + JsonString(device->UuidText()) +
            ", \"name\": " + JsonString(device->card().name) +
            ", \"total_bytes\": " + std::to_string(device->card().total) +
            ", \"peak_bytes\": " + std::to_string(device->peak()) + ", \"phases\": {";
    for (int phase = 0; phase < kPhases; ++phase) {
      line += phase == 0 ? "" : ", ";
      line += JsonString(PhaseName(static_cast<Phase>(phase))) + ": " +
              std::to_string(peaks[static_cast<size_t>(phase)]);
    }
    line += "}}";
    separator = ", ";
  }
  line += "]}\n";
  // One write, so that the lines of several processes do not mix.
  const int fd = open(report.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::fprintf(stderr, "simcuda: cannot write %s\n", report.path.c_str());
  }
  if (fd >= 0) close(fd);
}

Report* TheReport() {
  static Report* const report = [] {
    const std::string path = Environment("AUTOBATCH_SIM_REPORT").value_or("");
    if (path.empty()) return static_cast<Report*>(nullptr);
    auto* const made = new Report;
    made->path = path;
    made->pid = getpid();
    std::atexit(WriteReport);
    return made;
  }();
  return report;
}

}  // namespace

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kSetup:
      return "setup";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
  }
  return "";
}

bool InBackwardThread() {
  // A thread has its name before it runs anything of the framework's.
  thread_local const bool is = [] {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    return std::string_view(name).starts_with("pt_autograd");
  }();
  return is;
}

void PhaseAtLaunch(bool by_library) {
  const Phase before = present.load(std::memory_order_relaxed);
  Phase now = before;
  if (InBackwardThread()) {
    now = Phase::kBackward;
  } else if (by_library) {
    now = Phase::kForward;
  } else if (before == Phase::kBackward) {
    now = Phase::kOptimizer;
  }
  if (now != before) present.store(now, std::memory_order_relaxed);
}

void NoteMemory(Device& device) {
  Report* const report = TheReport();
  if (report == nullptr) return;
  // What is allocated in the backward pass may come before its first kernel.
  const Phase phase = InBackwardThread() ? Phase::kBackward : present.load();
  const std::lock_guard lock(report->mutex);
  DevicePeaks& entry = report->devices[{device.bus(), device.instance().value_or(-1)}];
  entry.device = &device;
  uint64_t& peak = entry.peaks[static_cast<size_t>(phase)];
  peak = std::max(peak, device.HeldBytes());
}

}  // namespace autobatch::simcuda
