#ifndef AUTOBATCH_TRIAL_COMMAND_MEMORY_H_
#define AUTOBATCH_TRIAL_COMMAND_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/trial/memory_watch.h"
#include "autobatch/trial/process_tree.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/observed_memory.h"

namespace autobatch {

// The memory of one trial of a command, as it is seen from outside: its budget, and what its
// process tree holds of the device. Of the CPU that is the tree's resident memory; of a GPU it is
// what the driver counts to the tree's processes or, where it names none of them (containers), what
// the device's use grew by.
class CommandMemory {
 public:
  using ReadDevice = std::function<absl::StatusOr<MemoryInfo>()>;

  // Before the command starts: reads a GPU's free memory, of which the budget is what `trial` does
  // not hold back. `known_context_bytes`: what the driver was seen to hold for the same command in
  // another trial; none counts with less, for the last growth falls between two readings.
  CommandMemory(const Device& device, const TrialSpec& trial, ReadDevice read_device,
                std::optional<int64_t> known_context_bytes = std::nullopt);

  // Bytes that the command may hold; absent: no limit is known.
  const std::optional<int64_t>& limit() const { return limit_; }
  // What of it the driver's own memory for the command (its contexts) leaves for allocations: what
  // an allocator is told, which knows nothing of contexts. 1 where none is left.
  std::optional<int64_t> AllocatorLimit() const;
  // The same as a share of a GPU; absent for the CPU, and where a number is missing.
  std::optional<double> Fraction() const;

  // From now on what the observer in the command's processes counts of this device is believed,
  // once it counts: no peak of its allocations is missed between two readings. What the driver
  // holds besides for these processes (their contexts) comes on top. `observer` outlives this
  // object.
  void Believe(const ObservedMemory& observer) { observer_ = &observer; }
  // Some process has allocated: what is counted is true.
  bool observed() const { return observer_ != nullptr && observer_->processes > 0; }
  // Allocations that the observer has seen refused, and the size of the last one.
  int64_t refusals() const { return observed() ? observer_->refusals.load() : 0; }
  int64_t refused_bytes() const { return observed() ? observer_->refused_bytes.load() : 0; }
  // What is on top of the observed allocations, in this trial or in one before; absent: the command
  // was gone before it was read.
  const std::optional<int64_t>& context_bytes() const { return context_; }

  // It ran without the device: the observer was there and counted nothing, and the driver, which
  // was asked, knew of nothing either.
  bool untouched() const {
    return observer_ != nullptr && !observed() && watch_.readings() > 0 && watch_.peak_bytes() == 0;
  }

  // The observer was there and counted nothing, whatever contexts the driver knows of.
  bool unallocated() const { return observer_ != nullptr && !observed(); }

  // Reads the memory of these processes, which are all of the command's.
  void Read(const ProcessTree& tree, absl::Duration since_start);
  // The greatest resident memory of one of its processes, known once they are gone.
  void AddProcess(int64_t max_resident_bytes);

  // The CPU's limit and `allowance` bytes were seen to be passed: nothing else keeps a command from
  // the rest of the host's memory. A GPU's own allocator and size do.
  bool Exceeds(int64_t allowance) const {
    return on_cpu_ && limit_.has_value() && peak_bytes() - *limit_ > allowance;
  }
  // Of the device; 0 when nothing was seen.
  int64_t peak_bytes() const {
    return observed() ? observer_->peak_bytes + context_.value_or(0) : watch_.peak_bytes();
  }
  // The peak as a share of the limit; 0 without one.
  double Fullness() const;
  bool StillGrew() const { return watch_.StillGrew(); }
  std::optional<int64_t> host_peak_bytes() const;
  std::optional<int64_t> total_bytes() const { return before_.total_bytes; }
  std::optional<int64_t> free_before_bytes() const { return before_.free_bytes; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // What these processes hold of the GPU.
  std::optional<int64_t> ReadHeld(const std::vector<int64_t>& pids);

  bool on_cpu_;
  ReadDevice read_device_;
  MemoryInfo before_;
  std::optional<int64_t> limit_;
  MemoryWatch watch_;
  const ObservedMemory* observer_ = nullptr;
  std::optional<int64_t> context_;
  int64_t host_peak_ = 0;
  std::vector<std::string> warnings_;
  bool grown_use_ = false;
};

// The share of PyTorch's limit for a command on all of these devices; absent where one has none.
// PyTorch knows one for all devices of a process: it is the largest, in no device's way. What is
// above a smaller budget the observer refuses.
std::optional<double> CommonFraction(std::span<const CommandMemory> memories);

// The device that a command without a result has failed on, as far as memory tells: where something
// was refused, else the fullest.
size_t LikelyCulprit(std::span<const CommandMemory> memories);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_MEMORY_H_
