#include "autobatch/base/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/mutex.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

constexpr char kUsual[] = "/tmp";
constexpr absl::string_view kPrefix = "autobatch-scratch.";
constexpr absl::string_view kLetters = "XXXXXX";

int OpenFolder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// What this process has, for its sudden end.
struct Living {
  Mutex mutex;
  std::set<std::string> paths ABSL_GUARDED_BY(mutex);
};

Living& TheLiving() {
  static auto* const living = new Living;
  return *living;
}

// $TMPDIR; nullptr: not set, or empty.
const char* Temporary() {
  const char* const value = std::getenv("TMPDIR");
  return value == nullptr || *value == '\0' ? nullptr : value;
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

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  const char* const named = Temporary();
  absl::StatusOr<ScratchFolder> folder = CreateIn(named == nullptr ? kUsual : named);
  if (folder.ok()) return folder;
  return absl::InvalidArgumentError(
      absl::StrCat(named == nullptr ? "TMPDIR is not set" : absl::StrCat("TMPDIR=", named), ": ",
                   folder.status().message(), "; set it to a folder that can be written to",
                   named == nullptr ? "" : absl::StrCat(", or unset it, for ", kUsual)));
}

absl::StatusOr<ScratchFolder> ScratchFolder::CreateForPreload() {
  const char* const named = Temporary();
  return named == nullptr || std::strpbrk(named, " :") == nullptr ? Create() : CreateIn(kUsual);
}

absl::StatusOr<ScratchFolder> ScratchFolder::CreateIn(const std::string& parent) {
  RemoveLeft(parent);
  MutexLock lock(TheLiving().mutex);
  while (true) {
    std::string path = (fs::path(parent) / absl::StrCat(kPrefix, kLetters)).string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
    }
    const int folder = OpenFolder(path);
    if (folder < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
    // On a file system without locks nobody else gets one either, and it is never taken for left.
    while (flock(folder, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (IsOurs(folder, path)) {
      TheLiving().paths.insert(path);
      return ScratchFolder(std::move(path), folder);
    }
    // Another process took it for left, between its making and its lock.
    close(folder);
  }
}

void ScratchFolder::RemoveAll() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  TheLiving().mutex.lock();
  for (const std::string& path : TheLiving().paths) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
}

ScratchFolder::~ScratchFolder() {
  if (lock_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
  MutexLock lock(TheLiving().mutex);
  TheLiving().paths.erase(path_);
}

}  // namespace autobatch
