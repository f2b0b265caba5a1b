#include "autobatch/trial/command_environment.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/trial/alloc_conf.h"

namespace autobatch {
namespace {

// The newer name wins where both are set; an older PyTorch knows only the older one.
constexpr char kAllocConf[] = "PYTORCH_ALLOC_CONF";
constexpr char kCudaAllocConf[] = "PYTORCH_CUDA_ALLOC_CONF";

// Each library's own word for "keep it on this machine".
constexpr std::pair<const char*, const char*> kOffline[] = {
    {"WANDB_MODE", "disabled"},
    {"WANDB_DISABLED", "true"},
    {"WANDB_SILENT", "true"},
    {"COMET_MODE", "disabled"},
    {"COMET_START_ONLINE", "0"},
    {"NEPTUNE_MODE", "debug"},
    {"CLEARML_OFFLINE_MODE", "1"},
    {"SWANLAB_MODE", "disabled"},
    {"DISABLE_MLFLOW_INTEGRATION", "TRUE"},
    {"HF_HUB_DISABLE_TELEMETRY", "1"},
};

constexpr char kKernelFolder[] = "TORCHINDUCTOR_CACHE_DIR";

// Where PyTorch would keep the kernels that it compiles; "": where the user says, or unknown.
std::string CompiledKernels(const EnvironmentLookup& lookup) {
  if (lookup(kKernelFolder).has_value()) return "";
  std::string user;
  // As Python finds it.
  for (const char* name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    if (user.empty()) user = lookup(name).value_or("");
  }
  if (user.empty()) return "";
  std::string folder = lookup("TMPDIR").value_or("");
  if (folder.empty()) folder = "/tmp";
  return absl::StrCat(folder, "/torchinductor_",
                      absl::StrReplaceAll(user, {{"/", "_"}, {"\\", "_"}, {":", "_"}}));
}

}  // namespace

std::optional<std::string> OwnEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

absl::StatusOr<CommandEnvironment> MakeCommandEnvironment(std::span<const Device> devices,
                                                          const std::string& output_dir,
                                                          std::optional<double> memory_fraction,
                                                          const EnvironmentLookup& lookup) {
  CommandEnvironment environment;
  auto& variables = environment.variables;
  const bool cpu = devices.front().kind == DeviceKind::kCpu;
  // By UUID and not by number: a number means another device once the list is another.
  const auto uuid = [](std::string* text, const Device& device) {
    absl::StrAppend(text, device.uuid);
  };
  variables.emplace_back("CUDA_VISIBLE_DEVICES", cpu ? "" : absl::StrJoin(devices, ",", uuid));
  for (const auto& [name, value] : kOffline) variables.emplace_back(name, value);
  // These have no switch, but can be pointed elsewhere.
  variables.emplace_back("WANDB_DIR", output_dir);
  variables.emplace_back("MLFLOW_TRACKING_URI", absl::StrCat("file:", output_dir, "/mlruns"));

  if (const std::string kernels = CompiledKernels(lookup); !kernels.empty()) {
    variables.emplace_back(kKernelFolder, kernels);
  }

  if (cpu) return environment;
  for (const char* name : {kCudaAllocConf, kAllocConf}) {
    const std::optional<std::string> own = lookup(name);
    if (!own.has_value() && name == kAllocConf) continue;
    // Looked at even where no limit is set: with the driver's allocator nothing can be measured.
    absl::StatusOr<AllocConf> merged =
        MergeAllocConf(own.value_or(""), memory_fraction.value_or(1.0));
    if (!merged.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": ", merged.status().message()));
    }
    if (!memory_fraction.has_value()) continue;
    if (!merged->warning.empty()) {
      environment.warnings.push_back(absl::StrCat(name, ": ", merged->warning));
    }
    variables.emplace_back(name, merged->text);
  }
  return environment;
}

}  // namespace autobatch
