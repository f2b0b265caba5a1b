#include "autobatch/trial/observer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr char kName[] = "/observed";

}  // namespace

absl::StatusOr<std::unique_ptr<ObserverFile>> ObserverFile::Create(
    std::optional<int64_t> budget_bytes) {
  AB_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Create());
  const std::string path = folder.path() + kName;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  void* memory = MAP_FAILED;
  if (ftruncate(file, sizeof(ObservedMemory)) == 0) {
    memory = mmap(nullptr, sizeof(ObservedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  close(file);
  if (memory == MAP_FAILED) return absl::ErrnoToStatus(error, absl::StrCat("cannot map ", path));
  auto* observed = static_cast<ObservedMemory*>(memory);
  observed->budget_bytes = budget_bytes.value_or(0);
  return std::unique_ptr<ObserverFile>(new ObserverFile(std::move(folder), observed));
}

ObserverFile::~ObserverFile() { munmap(memory_, sizeof(ObservedMemory)); }

std::string ObserverFile::path() const { return folder_.path() + kName; }

}  // namespace autobatch
