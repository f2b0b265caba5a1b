#include "orchestrator/service/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

absl::Status Error(int error, absl::string_view doing, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", doing, " ", path));
}

// Where everybody may write, as in /tmp, whoever made a name first may put something else in the
// place of what is below it.
absl::Status CheckWay(const std::filesystem::path& folder) {
  std::filesystem::path way;
  bool public_place = false;
  for (const std::filesystem::path& step : folder) {
    way /= step;
    struct stat found{};
    if (lstat(way.c_str(), &found) != 0) break;  // Still to be made, by us.
    if (public_place && found.st_uid != geteuid() && found.st_uid != 0) {
      return absl::PermissionDeniedError(absl::StrCat(way.string(), " belongs to another user (",
                                                      found.st_uid, "): name another folder"));
    }
    public_place = S_ISDIR(found.st_mode) && (found.st_mode & S_IWOTH) != 0;
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(folder, ignored);
  if (absl::Status safe = CheckWay(whole.lexically_normal()); !safe.ok()) return safe;
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error(error ? error.value() : errno, "make the folder", folder);
  }
  struct stat found{};
  if (stat(folder.c_str(), &found) != 0) return Error(errno, "look at", folder);
  if (found.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder, " belongs to another user (", found.st_uid, "): name another folder"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderLock>> FolderLock::Acquire(const std::string& folder) {
  if (absl::Status made = MakeFolder(folder); !made.ok()) return made;
  const std::string path = folder + "/lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return Error(errno, "open", path);
  auto lock = std::unique_ptr<FolderLock>(new FolderLock(file));
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Error(errno, "lock", path);
    const std::string pid = ReadFile(path).value_or("");
    return absl::AlreadyExistsError(absl::StrCat(folder, " is in use by process ",
                                                 absl::StripAsciiWhitespace(pid),
                                                 ": end it, or name another folder"));
  }
  if (ftruncate(file, 0) != 0) return Error(errno, "write", path);
  if (absl::Status written = WriteAll(file, absl::StrCat(getpid(), "\n"), path); !written.ok()) {
    return written;
  }
  return lock;
}

FolderLock::~FolderLock() { close(file_); }

}  // namespace autobatch
