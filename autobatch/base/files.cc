#include "autobatch/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
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

// The suffix with other letters for each call.
std::string NextTemporarySuffix() {
  static std::atomic<uint64_t> next =
      static_cast<uint64_t>(getpid()) << 32 ^
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  uint64_t random = next.fetch_add(1) * kSpread >> 24;
  std::string suffix = kTemporarySuffix;
  for (char& letter : suffix) {
    if (letter != 'X') continue;
    letter = "0123456789abcdefghijklmnopqrstuvwxyz"[random % 36];
    random /= 36;
  }
  return suffix;
}

// Opens a new file in the folder of `path`, which is made if need be. Unlike mkstemp's it has the
// rights of any new file; and mostly the folder is there.
absl::StatusOr<TemporaryFile> MakeTemporaryBeside(const std::string& path) {
  constexpr int kMostTries = 100;
  std::error_code no_folder;  // Shows when the file is opened, but only this says why.
  for (int tries = 1;; ++tries) {
    TemporaryFile file{.path = path + NextTemporarySuffix()};
    file.descriptor = open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor >= 0) return file;
    const int error = errno;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (error == ENOENT && tries == 1 && !parent.empty()) {
      std::filesystem::create_directories(parent, no_folder);
    } else if (error != EEXIST || tries == kMostTries) {
      return Error(no_folder ? no_folder.value() : error, "write", path);
    }
  }
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
  if (status.ok() && fsync(file.descriptor) != 0) status = Error(errno, "write", path);
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
