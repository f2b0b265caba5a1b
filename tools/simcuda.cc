// Runs any program on simulated CUDA devices and says how much memory it took, phase by phase.

#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "autobatch/base/files.h"
#include "autobatch/base/scratch_folder.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/programs.h"
#include "autobatch/simcuda/card.h"
#include "autobatch/simcuda/catalogue.h"
#include "autobatch/simcuda/configuration.h"
#include "autobatch/simcuda/faults.h"
#include "tools/preload.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;
constexpr int kCannotRun = 5;
constexpr int kSignal = 128;

constexpr absl::string_view kHelp =
    R"(Runs a program on simulated CUDA devices and says how much memory it took.

  simcuda --device LIST [OPTION…] -- COMMAND…
  simcuda --list

  simcuda --device rtx4090 -- python train.py
  simcuda --device rtx3090:used=2GiB,a100-80 -- torchrun --nproc-per-node=2 train.py

  --device LIST       cards by their names, or custom:memory=24GiB:sm=8.6:context=400MiB
  --driver VERSION    the newest CUDA version that the driver knows, such as 12.4 (default: the program's)
  --faults LIST       faults on demand (below), such as 'oom_at=1;oom_in=backward'
  --calibration FILE  measured parts of the memory model
  --list              the cards there are
  --help              this text

The program's own output and exit status are passed on. Its framework is the stock CUDA build; no kernel
computes anything, so that losses read 0 and times mean nothing. Peaks are what the framework and the driver
hold, process by process. A program that checks what it computed fails, and cudaMallocAsync is refused.

Faults, in each process that uses a device:
)";

struct Options {
  std::string devices;
  std::string driver;
  std::string faults;
  std::string calibration;
  std::vector<std::string> command;
  bool help = false;
  bool list = false;
};

absl::StatusOr<Options> Parse(const std::vector<std::string>& arguments) {
  Options options;
  const std::vector<std::pair<std::string, std::string*>> names = {
      {"--device", &options.devices},
      {"--driver", &options.driver},
      {"--faults", &options.faults},
      {"--calibration", &options.calibration},
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      options.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (arguments[i] == "--help") {
      options.help = true;
      return options;
    }
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    if (arguments[i] == "--list") {
      options.list = true;
      return options;
    }
    bool known = false;
    for (const auto& [name, value] : names) {
      if (parts.first != name) continue;
      known = true;
      const bool separate = parts.first == arguments[i];
      if (separate && i + 1 == arguments.size()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
      }
      *value = separate ? arguments[++i] : parts.second;
    }
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown argument '", arguments[i], "'; the command follows after --"));
    }
  }
  // The probe's own way to write it.
  options.devices = std::string(absl::StripPrefix(options.devices, "sim:"));
  if (options.devices.empty()) {
    return absl::InvalidArgumentError(
        "no cards: give --device LIST, such as --device rtx4090; --list names all");
  }
  if (options.command.empty()) return absl::InvalidArgumentError("no command after --");
  if (const std::string error = simcuda::ParseFaults(options.faults).error; !error.empty())
    return absl::InvalidArgumentError(absl::StrCat("--faults: ", error));
  const simcuda::DeviceList list = simcuda::ParseDeviceList(options.devices);
  if (!list.error.empty())
    return absl::InvalidArgumentError(absl::StrCat("--device: ", list.error));
  return options;
}

// A folder of this run's own, gone at its end: what the processes share, their reports, and the
// library under its three names (a preload's path may hold neither spaces nor colons).
class RunFolder {
 public:
  static absl::StatusOr<RunFolder> Make(const std::string& library) {
    AB_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::CreateForPreload());
    for (const char* name : {"libsimcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"}) {
      std::error_code error;
      fs::create_symlink(library, fs::path(folder.path()) / name, error);
      if (error) return absl::InternalError(absl::StrCat(folder.path(), ": ", error.message()));
    }
    return RunFolder(std::move(folder));
  }

  std::string path(absl::string_view name) const { return absl::StrCat(path(), "/", name); }
  const std::string& path() const { return folder_.path(); }

 private:
  explicit RunFolder(ScratchFolder folder) : folder_(std::move(folder)) {}

  ScratchFolder folder_;
};

void Prepend(const char* variable, const std::string& value) {
  const char* const old = std::getenv(variable);
  const std::string rest = old == nullptr || *old == '\0' ? "" : absl::StrCat(":", old);
  setenv(variable, absl::StrCat(value, rest).c_str(), /*replace=*/1);
}

void SetEnvironment(const Options& options, const RunFolder& folder) {
  setenv("AUTOBATCH_SIM_DEVICES", options.devices.c_str(), 1);
  setenv("AUTOBATCH_SIM_SHARED", folder.path().c_str(), 1);
  setenv("AUTOBATCH_SIM_REPORT", folder.path("report").c_str(), 1);
  if (!options.driver.empty()) setenv("AUTOBATCH_SIM_DRIVER", options.driver.c_str(), 1);
  if (!options.faults.empty()) setenv("AUTOBATCH_SIM_FAULTS", options.faults.c_str(), 1);
  if (!options.calibration.empty()) {
    setenv("AUTOBATCH_SIM_CALIBRATION", fs::absolute(options.calibration).c_str(), 1);
  }
  Prepend("LD_PRELOAD", folder.path("libsimcuda.so"));
  Prepend("LD_LIBRARY_PATH", folder.path());
}

pid_t child = 0;

void PassOn(int signal) {
  if (child > 0) kill(child, signal);
}

// What ends a program waits while this lives: there is a folder to be removed, and nobody yet whom
// to pass it on to.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
    sigprocmask(SIG_BLOCK, &ends, &before_);
  }
  ~SignalsWait() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

  // The number of one that came; 0: none.
  static int Came() {
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (sigismember(&pending, signal) == 1) return signal;
    }
    return 0;
  }

 private:
  sigset_t before_{};
};

// The command's exit status as a shell would give it.
absl::StatusOr<int> Run(const Options& options, const RunFolder& folder,
                        std::optional<SignalsWait>& wait) {
  if (const int signal = SignalsWait::Came(); signal != 0) return kSignal + signal;
  // A terminal's interrupt reaches the child by itself; this program stays to report.
  std::signal(SIGINT, SIG_IGN);
  child = fork();
  if (child < 0) return absl::InternalError(std::strerror(errno));
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    wait.reset();
    SetEnvironment(options, folder);
    std::vector<char*> words;
    for (const std::string& word : options.command)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "simcuda: %s: %s\n", words[0], std::strerror(errno));
    _exit(127);
  }
  std::signal(SIGTERM, PassOn);
  std::signal(SIGHUP, PassOn);
  wait.reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(std::strerror(errno));
  }
  return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ProcessLines(const boost::json::object& process) {
  std::string text;
  for (const boost::json::value& entry : process.at("devices").as_array()) {
    const boost::json::object& device = entry.as_object();
    const auto bytes = [](const boost::json::value& value) { return value.to_number<int64_t>(); };
    absl::StrAppendFormat(
        &text, "process %d, device %d, %s (simulated): peak %s of %s\n", bytes(process.at("pid")),
        bytes(device.at("bus")), std::string(device.at("name").as_string().c_str()),
        FormatBytes(bytes(device.at("peak_bytes"))), FormatBytes(bytes(device.at("total_bytes"))));
    for (const auto& [phase, peak] : device.at("phases").as_object()) {
      if (bytes(peak) == 0) continue;
      absl::StrAppendFormat(&text, "  %-10s %s\n", std::string(phase), FormatBytes(bytes(peak)));
    }
  }
  return text;
}

std::string Summary(const RunFolder& folder) {
  const absl::StatusOr<std::string> report = ReadFile(folder.path("report"));
  std::string text;
  for (const absl::string_view line :
       absl::StrSplit(report.value_or(""), '\n', absl::SkipEmpty())) {
    boost::json::error_code error;
    const boost::json::value process =
        boost::json::parse(boost::json::string_view(line.data(), line.size()), error);
    if (!error) text += ProcessLines(process.as_object());
  }
  if (!text.empty()) return text;
  return "simcuda: no process took memory of a simulated device to its end. A setuid or static "
         "program "
         "refuses the preload; one that was killed reports nothing; a framework without CUDA takes "
         "none.\n";
}

std::string CardTable() {
  std::string table =
      absl::StrFormat("%-14s %-40s %10s %5s %4s\n", "card", "name", "memory", "sm", "SMs");
  for (const simcuda::Card& card : simcuda::Catalogue()) {
    absl::StrAppendFormat(&table, "%-14s %-40s %10s %5s %4d\n", card.id, card.name,
                          FormatBytes(static_cast<int64_t>(card.total)),
                          absl::StrCat(card.major, ".", card.minor), card.multiprocessors);
  }
  return table;
}

int Main(const std::vector<std::string>& arguments) {
  const auto complain = [](const absl::Status& status, int exit_status) {
    std::fprintf(stderr, "simcuda: %s\n", std::string(status.message()).c_str());
    return exit_status;
  };
  const absl::StatusOr<Options> options = Parse(arguments);
  if (!options.ok()) return complain(options.status(), kUsage);
  if (options->help || options->list) {
    const std::string text =
        options->help ? absl::StrCat(kHelp, std::string(simcuda::FaultHelp())) : CardTable();
    return WriteAll(STDOUT_FILENO, text, "stdout").ok() ? 0 : 1;
  }
  // `bazel run` starts programs elsewhere; the command is the user's, and so is its folder.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    return complain(absl::InternalError(absl::StrCat(directory, ": ", std::strerror(errno))),
                    kCannotRun);
  }
  const absl::StatusOr<std::string> warning = CheckPreload(options->command.front());
  if (!warning.ok()) return complain(warning.status(), kUsage);
  if (!warning->empty()) std::fprintf(stderr, "simcuda: %s\n", warning->c_str());
  const absl::StatusOr<std::string> library = FindBeside("autobatch/simcuda", "libsimcuda.so");
  if (!library.ok()) return complain(library.status(), kCannotRun);
  std::optional<SignalsWait> wait(std::in_place);
  const auto folder = RunFolder::Make(*library);
  if (!folder.ok()) {
    return complain(folder.status(),
                    absl::IsInvalidArgument(folder.status()) ? kUsage : kCannotRun);
  }
  const absl::StatusOr<int> status = Run(*options, *folder, wait);
  if (!status.ok()) return complain(status.status(), kCannotRun);
  WriteAll(STDERR_FILENO, Summary(*folder), "stderr").IgnoreError();
  return *status;
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(std::vector<std::string>(argv + 1, argv + argc));
}
