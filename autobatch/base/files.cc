#include "autobatch/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/temporary_files.h"

namespace autobatch {
namespace {

absl::Status Error(int error, absl::string_view doing, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", doing, " ", path));
}

// /dev/full, a pipe: there is nothing to rename.
bool IsWrittenInPlace(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

struct TemporaryFile {
  std::string path;
  int descriptor = -1;
};

// Opens a new file in the folder of `path`, which is made if need be.
absl::StatusOr<TemporaryFile> MakeTemporaryBeside(const std::string& path) {
  std::error_code no_folder;  // Shows when the file is opened, but only this says why.
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, no_folder);
  TemporaryFile file{.path = path + kTemporarySuffix};
  file.descriptor = mkostemp(file.path.data(), O_CLOEXEC);
  if (file.descriptor < 0) return Error(no_folder ? no_folder.value() : errno, "write", path);
  return file;
}

}  // namespace

std::string ResolveUserPath(absl::string_view path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  const std::filesystem::path own((std::string(path)));
  if (directory == nullptr || own.is_absolute()) return own.string();
  return (std::filesystem::path(directory) / own).string();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // A pipe that nobody writes to would be waited for.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Error(errno, "read", path);
  const auto closer = absl::MakeCleanup([file] { close(file); });
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(file, buffer, sizeof(buffer));
    if (got == 0) return content;
    if (got > 0) content.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) return Error(errno, "read", path);
  }
}

absl::Status WriteAll(int descriptor, absl::string_view content, absl::string_view name) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return Error(errno, "write", name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFileCanBeWritten(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return Error(EISDIR, "write", path);
  if (IsWrittenInPlace(path)) {
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : Error(errno, "write", path);
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && !std::filesystem::exists(parent, ignored)) {
    return absl::NotFoundError(
        absl::StrCat("cannot write ", path, ": there is no folder ", parent.string()));
  }
  AB_ASSIGN_OR_RETURN(const TemporaryFile file, MakeTemporaryBeside(path));
  close(file.descriptor);
  unlink(file.path.c_str());
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content) {
  if (IsWrittenInPlace(path)) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return Error(errno, "write", path);
    absl::Status status = WriteAll(file, content, path);
    if (close(file) != 0 && status.ok()) status = Error(errno, "write", path);
    return status;
  }
  AB_ASSIGN_OR_RETURN(const TemporaryFile file, MakeTemporaryBeside(path));
  absl::Status status = WriteAll(file.descriptor, content, path);
  const mode_t mask = umask(0);
  umask(mask);
  if (status.ok() && (fchmod(file.descriptor, 0666 & ~mask) != 0 || fsync(file.descriptor) != 0)) {
    status = Error(errno, "write", path);
  }
  if (close(file.descriptor) != 0 && status.ok()) status = Error(errno, "write", path);
  if (status.ok() && rename(file.path.c_str(), path.c_str()) != 0) {
    status = Error(errno, "write", path);
  }
  if (!status.ok()) unlink(file.path.c_str());
  return status;
}

absl::Status SyncFolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return Error(errno, "open the folder", folder);
  const auto closer = absl::MakeCleanup([file] { close(file); });
  // Some network file systems cannot and say so; there, nothing better is to be had.
  if (fsync(file) != 0 && errno != EINVAL) return Error(errno, "sync the folder", folder);
  return absl::OkStatus();
}

}  // namespace autobatch
