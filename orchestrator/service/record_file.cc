#include "orchestrator/service/record_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {

absl::Status RecordFile::Prepare(absl::string_view record) const {
  AB_RETURN_IF_ERROR(Remove(path_));
  // Its name need not outlast a power cut before it is committed: after one, nothing is prepared.
  return WriteFileAtomically(prepared_path(), record);
}

absl::Status RecordFile::Commit() const {
  if (std::rename(prepared_path().c_str(), path_.c_str()) == 0) return SyncFolderOf(path_);
  if (errno == ENOENT) {
    return absl::FailedPreconditionError(
        absl::StrCat("no prepared record in ", prepared_path(), " to commit"));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
}

absl::Status RecordFile::Withdraw() const {
  // The one that training would start on goes, whatever becomes of the other.
  absl::Status status = Remove(path_);
  status.Update(Remove(prepared_path()));
  return status;
}

absl::StatusOr<std::string> RecordFile::Read() const { return ReadFile(path_); }

absl::Status RecordFile::Remove(const std::string& path) const {
  if (unlink(path.c_str()) == 0) return SyncFolderOf(path);
  // A folder that is not there holds no record either.
  if (errno == ENOENT || errno == ENOTDIR) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

}  // namespace autobatch
