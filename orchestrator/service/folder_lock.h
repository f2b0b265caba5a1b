#ifndef ORCHESTRATOR_SERVICE_FOLDER_LOCK_H_
#define ORCHESTRATOR_SERVICE_FOLDER_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace autobatch {

// A folder of state that one process at a time has for itself: two coordinators that count the same
// rounds would commit two records of one number. The kernel gives the lock back however the process
// ends; its children do not hold it.
class FolderLock {
 public:
  // Makes the folder if it is not there, for its owner only. AlreadyExists: another process has it,
  // by its pid; PermissionDenied: it is another user's, or lies
  // in what another user made where everybody may write, as in /tmp. Otherwise errno's, with the
  // path.
  static absl::StatusOr<std::unique_ptr<FolderLock>> Acquire(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}

  const int file_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_FOLDER_LOCK_H_
