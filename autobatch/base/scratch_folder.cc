#include "autobatch/base/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "autobatch-scratch.";
constexpr absl::string_view kLetters = "XXXXXX";

int OpenFolder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Whether this name still leads to what was opened, and it is ours.
bool IsOurs(int folder, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  return fstat(folder, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino &&
         opened.st_uid == geteuid();
}

// What killed processes left.
void RemoveLeft(const fs::path& parent) {
  std::error_code error;
  fs::directory_iterator entries(parent, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!absl::StartsWith(name, kPrefix) || name.size() != kPrefix.size() + kLetters.size()) {
      continue;
    }
    const std::string path = entries->path().string();
    const int folder = OpenFolder(path);
    if (folder < 0) continue;
    const auto closer = absl::MakeCleanup([folder] { close(folder); });
    // Whoever lives holds the lock; so nobody does who has not locked it yet, and he will look.
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 || !IsOurs(folder, path)) continue;
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
}

}  // namespace

absl::StatusOr<ScratchFolder> ScratchFolder::Create(const std::string& parent) {
  std::error_code error;
  fs::path place = parent.empty() ? fs::temp_directory_path(error) : fs::path(parent);
  if (error) place = "/tmp";
  RemoveLeft(place);
  while (true) {
    std::string path = (place / absl::StrCat(kPrefix, kLetters)).string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
    }
    const int folder = OpenFolder(path);
    if (folder < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
    // On a file system without locks nobody else gets one either, and it is never taken for left.
    while (flock(folder, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (IsOurs(folder, path)) return ScratchFolder(std::move(path), folder);
    // Another process took it for left, between its making and its lock.
    close(folder);
  }
}

ScratchFolder::~ScratchFolder() {
  if (lock_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace autobatch
