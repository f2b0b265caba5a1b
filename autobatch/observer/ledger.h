#ifndef AUTOBATCH_OBSERVER_LEDGER_H_
#define AUTOBATCH_OBSERVER_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "autobatch/types/observed_memory.h"

namespace autobatch::observer {

// The device memory that this process holds, and the sums of all processes. Thread-safe.
//
//   if (!ledger.Reserve(device, bytes)) return out_of_memory;
//   if (real_allocate(&address, bytes) fails) { ledger.Refuse(device, bytes); return its error; }
//   ledger.Keep(device, address, bytes);
//
// `device` counts in the order of the trial (device_index.h).
class Ledger {
 public:
  // `shared` outlives it, or is null: then everything is allowed and nothing counted.
  explicit Ledger(ObservedDevices* shared) : shared_(shared) {}
  // Gives everything back, as the driver does with a process's end.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Takes `bytes` of the budget; false, and a refusal on record, when they are not left.
  bool Reserve(int device, int64_t bytes);
  // Gives back what was reserved and could not be had from the driver.
  void Refuse(int device, int64_t bytes);
  // The reserved bytes are at `key`: an address, or a handle.
  void Keep(int device, uint64_t key, int64_t bytes);
  // `key` was freed. Unknown keys (memory from elsewhere) are none of its business.
  void Free(uint64_t key);

  // A kernel begins: the clock by which it is told when memory grew.
  void CountLaunch() {
    if (shared_ != nullptr) shared_->launches.fetch_add(1, std::memory_order_relaxed);
  }

  // Python gets to see an out-of-memory error.
  void CountPythonError() {
    if (shared_ != nullptr) ++shared_->python_errors;
  }

  // What the trial's parent wrote; null: this is no trial.
  const ObservedDevices* trial() const { return shared_; }

 private:
  struct Held {
    int device;
    int64_t bytes;
  };

  void NoteRise(int device, int64_t held);

  ObservedDevices* const shared_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Held> held_;
  // This process is one of those that have allocated there.
  bool counted_[kMostObservedDevices] = {};
};

// The one of this process. Never destroyed by the order of other libraries' ends: the process's
// last frees may come late.
Ledger& TheLedger();

// Maps the file that kObserverFileVariable names; null where there is none.
ObservedDevices* MapSharedMemory();

}  // namespace autobatch::observer

#endif  // AUTOBATCH_OBSERVER_LEDGER_H_
