#include "autobatch/probe/simulation.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/programs.h"
#include "autobatch/simcuda/configuration.h"
#include "autobatch/simcuda/faults.h"

namespace autobatch {
namespace {

constexpr char kDevices[] = "AUTOBATCH_SIM_DEVICES";
constexpr char kNode[] = "AUTOBATCH_SIM_NODE";
constexpr char kShared[] = "AUTOBATCH_SIM_SHARED";
constexpr char kFaults[] = "AUTOBATCH_SIM_FAULTS";

// `folder` before what the user has.
std::string Prepended(const char* variable, const std::string& value, char separator) {
  const char* old = std::getenv(variable);
  return old == nullptr || *old == '\0' ? value
                                        : absl::StrCat(value, std::string(1, separator), old);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Start(const std::string& devices,
                                                              const std::string& node_name,
                                                              WorkerPrograms& programs) {
  if (const std::string error = simcuda::ParseDeviceList(devices).error; !error.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--device=sim:", devices, ": ", error));
  }
  if (const char* const faults = std::getenv(kFaults); faults != nullptr) {
    if (const std::string error = simcuda::ParseFaults(faults).error; !error.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(kFaults, ": ", error));
    }
  }
  auto simulation = std::unique_ptr<Simulation>(new Simulation);
  AB_ASSIGN_OR_RETURN(std::string preload, FindBeside("autobatch/simcuda", "libsimcuda.so"));
  AB_ASSIGN_OR_RETURN(const std::string driver,
                      FindBeside("autobatch/simcuda/driver", "libcuda.so.1"));
  simulation->driver_folder_ = std::filesystem::path(driver).parent_path().string();

  setenv(kDevices, devices.c_str(), 1);
  if (!node_name.empty()) setenv(kNode, node_name.c_str(), 1);
  if (std::getenv(kShared) == nullptr) {
    AB_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Create());
    setenv(kShared, folder.path().c_str(), 1);
    simulation->folders_.push_back(std::move(folder));
  }
  if (preload.find_first_of(" :") != std::string::npos) {
    // Such a path is two to the loader.
    AB_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::CreateForPreload());
    const std::string link = absl::StrCat(folder.path(), "/libsimcuda.so");
    simulation->folders_.push_back(std::move(folder));
    std::error_code error;
    std::filesystem::create_symlink(std::filesystem::absolute(preload), link, error);
    if (error) return absl::InternalError(absl::StrCat(link, ": ", error.message()));
    preload = link;
  }
  programs.environment.emplace_back("LD_PRELOAD", Prepended("LD_PRELOAD", preload, ' '));
  programs.environment.emplace_back("LD_LIBRARY_PATH",
                                    Prepended("LD_LIBRARY_PATH", simulation->driver_folder_, ':'));
  return simulation;
}

}  // namespace autobatch
