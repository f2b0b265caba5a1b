#include "autobatch/trial/observer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr char kName[] = "/observed";
// With fewer a rise cannot be placed in the run.
constexpr int64_t kLeastLaunches = 100;
constexpr double kGrown = 1.01;

// "GPU-00112233-4455-…" as the driver gives it, in bytes; left alone where it is no UUID.
void ReadUuid(const std::string& text, unsigned char (&uuid)[16]) {
  std::string digits;
  for (const char c : text.substr(std::min(text.size(), text.find('-') + 1))) {
    if (c != '-') digits += c;
  }
  if (digits.size() != 2 * sizeof(uuid) || !std::all_of(digits.begin(), digits.end(), [](char c) {
        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
      })) {
    return;
  }
  const std::string bytes = absl::HexStringToBytes(digits);
  std::copy(bytes.begin(), bytes.end(), uuid);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ObserverFile>> ObserverFile::Create(
    std::span<const ObservedBudget> devices) {
  if (devices.size() > kMostObservedDevices) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the observer counts up to ", kMostObservedDevices, " devices, not ", devices.size()));
  }
  AB_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Create());
  const std::string path = folder.path() + kName;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  void* memory = MAP_FAILED;
  if (ftruncate(file, sizeof(ObservedDevices)) == 0) {
    memory = mmap(nullptr, sizeof(ObservedDevices), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  close(file);
  if (memory == MAP_FAILED) return absl::ErrnoToStatus(error, absl::StrCat("cannot map ", path));
  auto* shared = static_cast<ObservedDevices*>(memory);
  shared->count = static_cast<int64_t>(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    shared->devices[i].budget_bytes = devices[i].budget_bytes.value_or(0);
    ReadUuid(devices[i].uuid, shared->uuids[i]);
  }
  return std::unique_ptr<ObserverFile>(new ObserverFile(std::move(folder), shared));
}

ObserverFile::~ObserverFile() { munmap(shared_, sizeof(ObservedDevices)); }

std::optional<bool> ObserverFile::GrewAfter(size_t index, double share_of_work) const {
  const int64_t all = shared_->launches;
  if (all < kLeastLaunches) return std::nullopt;
  const ObservedRises& rises = shared_->rises[index];
  int64_t peak = 0;
  for (int64_t i = 0; i < std::min(rises.count.load(), ObservedRises::kMost); ++i) {
    const ObservedRises::Rise& rise = rises.rises[i];
    if (static_cast<double>(rise.launches) >= share_of_work * static_cast<double>(all)) continue;
    peak = std::max(peak, rise.peak_bytes.load());
  }
  return static_cast<double>(shared_->devices[index].peak_bytes) >
         kGrown * static_cast<double>(peak);
}

std::string ObserverFile::PreloadPath(const std::string& library) const {
  constexpr char kEndsOfName[] = " :";
  if (library.find_first_of(kEndsOfName) == std::string::npos) return library;
  std::string link = folder_.path() + "/libobserver.so";
  std::error_code error;
  std::filesystem::create_symlink(std::filesystem::absolute(library), link, error);
  return error || link.find_first_of(kEndsOfName) != std::string::npos ? "" : link;
}

std::string ObserverFile::path() const { return folder_.path() + kName; }

}  // namespace autobatch
