#ifndef AUTOBATCH_TRIAL_OBSERVER_FILE_H_
#define AUTOBATCH_TRIAL_OBSERVER_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "autobatch/base/scratch_folder.h"
#include "autobatch/types/observed_memory.h"

namespace autobatch {

// A device that the observer is to count, with the budget that it is to keep; absent: none.
struct ObservedBudget {
  // "GPU-…"; what is no UUID leaves the device's number.
  std::string uuid;
  std::optional<int64_t> budget_bytes;
};

// What the observer (autobatch/observer) in a command's processes counts of device memory: the file
// that they share with this process, in a folder of its own, gone with this object.
class ObserverFile {
 public:
  // InvalidArgument: more devices than such a file has room for.
  static absl::StatusOr<std::unique_ptr<ObserverFile>> Create(
      std::span<const ObservedBudget> devices);
  ~ObserverFile();
  ObserverFile(const ObserverFile&) = delete;
  ObserverFile& operator=(const ObserverFile&) = delete;

  // For kObserverFileVariable.
  std::string path() const;
  // What LD_PRELOAD gets so that `library` is loaded: itself, or a link of this object's where its
  // path has what ends a name there (spaces, colons). "" where there can be no such link either.
  std::string PreloadPath(const std::string& library) const;
  // In the order of Create. Written by other processes at any time.
  const ObservedMemory& device(size_t index) const { return shared_->devices[index]; }
  // Out-of-memory errors that Python got to see.
  int64_t python_errors() const { return shared_->python_errors; }
  // The device's peak rose after this share of all kernels had been launched, by more than an
  // allocator's rounding: one that has settled takes nothing any more. Absent where next to no
  // kernels were launched.
  std::optional<bool> GrewAfter(size_t index, double share_of_work) const;

 private:
  ObserverFile(ScratchFolder folder, ObservedDevices* shared)
      : folder_(std::move(folder)), shared_(shared) {}

  const ScratchFolder folder_;
  ObservedDevices* const shared_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_OBSERVER_FILE_H_
