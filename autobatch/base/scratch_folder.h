#ifndef AUTOBATCH_BASE_SCRATCH_FOLDER_H_
#define AUTOBATCH_BASE_SCRATCH_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace autobatch {

// A new folder for what nobody needs after this process, removed with all that is in it. A process
// that is killed leaves its own, which the next one that makes such a folder there removes: it is
// locked for as long as its process lives.
class ScratchFolder {
 public:
  // Below `parent`; empty: the system's temporary folder. Otherwise errno's, with the path.
  static absl::StatusOr<ScratchFolder> Create(const std::string& parent = "");

  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::exchange(other.lock_, -1)) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  // The folder itself, open and locked; -1: it moved on.
  int lock_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_SCRATCH_FOLDER_H_
