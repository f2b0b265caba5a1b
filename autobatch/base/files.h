#ifndef AUTOBATCH_BASE_FILES_H_
#define AUTOBATCH_BASE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// A path as the user meant it: relative to $BUILD_WORKING_DIRECTORY when `bazel run` set it, else
// to the working directory.
std::string ResolveUserPath(absl::string_view path);

// The whole file. NotFound, PermissionDenied or another code of errno; the message names the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes a file of this content or leaves what was there: a temporary file beside it, flushed to
// the disk, then renamed. Creates missing parent folders. The error names the path and the reason
// (disk full, read-only). What is no regular file (/dev/full, a pipe) is written in place.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

// Whether a file can be written there now, with WriteFileAtomically's errors: to be asked before
// long work whose result goes there. What was there stays. NotFound where its folder is missing:
// one that a user named is more likely misspelt than to be made.
absl::Status CheckFileCanBeWritten(const std::string& path);

// Makes a rename, a new or a removed file in the folder of `path` outlast a power cut.
absl::Status SyncFolderOf(const std::string& path);

// Writes everything to a descriptor, over short writes and interruptions; `name` is for the error.
absl::Status WriteAll(int descriptor, absl::string_view content, absl::string_view name);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_FILES_H_
