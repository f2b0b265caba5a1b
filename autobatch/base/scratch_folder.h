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
  // Below $TMPDIR, or /tmp where that is not set or empty. InvalidArgument names the variable and
  // its value where no folder can be made there.
  static absl::StatusOr<ScratchFolder> Create();
  // Its path can stand in LD_PRELOAD, where a space or a colon ends a name: below /tmp where
  // $TMPDIR has one.
  static absl::StatusOr<ScratchFolder> CreateForPreload();
  // Below `parent`. Otherwise errno's, with the path.
  static absl::StatusOr<ScratchFolder> CreateIn(const std::string& parent);

  // Removes all that this process has. Its very last act, as it stops every other thread that makes
  // or removes one.
  static void RemoveAll();

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
