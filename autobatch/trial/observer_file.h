#ifndef AUTOBATCH_TRIAL_OBSERVER_FILE_H_
#define AUTOBATCH_TRIAL_OBSERVER_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/trial/scratch_folder.h"
#include "autobatch/types/observed_memory.h"

namespace autobatch {

// What the observer (autobatch/observer) in a command's processes counts of device memory: the file
// that they share with this process, in a folder of its own, gone with this object.
class ObserverFile {
 public:
  // With the budget that the observer is to keep; absent: none.
  static absl::StatusOr<std::unique_ptr<ObserverFile>> Create(std::optional<int64_t> budget_bytes);
  ~ObserverFile();
  ObserverFile(const ObserverFile&) = delete;
  ObserverFile& operator=(const ObserverFile&) = delete;

  // For kObserverFileVariable.
  std::string path() const;
  // Some process has allocated: what is counted is true.
  bool observed() const { return memory_->processes > 0; }
  int64_t held_bytes() const { return memory_->held_bytes; }
  int64_t peak_bytes() const { return memory_->peak_bytes; }
  // What every process holds, and the driver with them; false once one of them is at its end.
  bool complete() const { return observed() && memory_->ended == 0; }
  int64_t refusals() const { return memory_->refusals; }
  int64_t refused_bytes() const { return memory_->refused_bytes; }

 private:
  ObserverFile(ScratchFolder folder, ObservedMemory* memory)
      : folder_(std::move(folder)), memory_(memory) {}

  const ScratchFolder folder_;
  ObservedMemory* const memory_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_OBSERVER_FILE_H_
