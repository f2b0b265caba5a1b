#include "orchestrator/nccl/nccl_candidates.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "libnccl.so.2";

void AddIfThere(const fs::path& path, std::vector<std::string>& found) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) found.push_back(path.string());
}

// Where pip puts NVIDIA's wheel below a folder of packages.
fs::path InWheel(const fs::path& packages) { return packages / "nvidia" / "nccl" / "lib" / kName; }

// Below ENVIRONMENT/lib/python3.x, of the newest Python that has one.
void AddFromPython(const fs::path& environment, std::vector<std::string>& found) {
  std::vector<fs::path> pythons;
  std::error_code ignored;
  for (fs::directory_iterator entry(environment / "lib", ignored), end; entry != end;
       entry.increment(ignored)) {
    if (absl::StartsWith(entry->path().filename().string(), "python3")) {
      pythons.push_back(entry->path());
    }
  }
  std::sort(pythons.rbegin(), pythons.rend());
  for (const fs::path& python : pythons) AddIfThere(InWheel(python / "site-packages"), found);
  // Conda has packages of its own.
  AddIfThere(environment / "lib" / kName, found);
}

}  // namespace

std::vector<std::string> NcclCandidates(
    const std::function<std::optional<std::string>(const char*)>& getenv) {
  std::vector<std::string> found;
  if (const auto torch = getenv("LIBTORCH_DIR"); torch.has_value() && !torch->empty()) {
    AddIfThere(InWheel(*torch), found);
    AddIfThere(InWheel(fs::path(*torch) / ".."), found);
    AddIfThere(fs::path(*torch) / "lib" / kName, found);
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto environment = getenv(variable);
    if (environment.has_value() && !environment->empty()) AddFromPython(*environment, found);
  }
  found.emplace_back(kName);
  return found;
}

}  // namespace autobatch
