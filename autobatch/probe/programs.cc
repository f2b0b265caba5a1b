#include "autobatch/probe/programs.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<std::string> FindBeside(const std::string& package, const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError("cannot read /proc/self/exe");
  // An unpacked tarball keeps the programs in one folder; Bazel keeps them below NAME.runfiles and,
  // in bazel-bin, by their packages.
  const std::string label = absl::StrCat(package, "/", name);
  const std::vector<std::string> places = {
      (self.parent_path() / name).string(),
      absl::StrCat(self.string(), ".runfiles/autobatch/", label),
      (self.parent_path().parent_path() / label).string(),
  };
  for (const std::string& place : places) {
    std::error_code ignored;
    if (fs::is_regular_file(place, ignored) && access(place.c_str(), X_OK) == 0) return place;
  }
  return absl::FailedPreconditionError(absl::StrCat("cannot find the program '", name,
                                                    "'; looked at ", absl::StrJoin(places, ", ")));
}

absl::StatusOr<WorkerPrograms> FindPrograms() {
  WorkerPrograms programs;
  AB_ASSIGN_OR_RETURN(programs.worker, FindBeside("autobatch/worker", "worker"));
  AB_ASSIGN_OR_RETURN(programs.guard, FindBeside("autobatch/trial", "guard"));
  return programs;
}

}  // namespace autobatch
