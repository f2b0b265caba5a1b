#ifndef AUTOBATCH_TRIAL_SCRATCH_FOLDER_H_
#define AUTOBATCH_TRIAL_SCRATCH_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

// A new folder below the system's temporary one, removed with all that is in it.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string path = ((error ? "/tmp" : parent) / "autobatch-trial.XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) return ScratchFolder(std::move(path));
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a folder for a trial's output, ", path));
  }

  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_SCRATCH_FOLDER_H_
