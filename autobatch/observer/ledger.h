#ifndef AUTOBATCH_OBSERVER_LEDGER_H_
#define AUTOBATCH_OBSERVER_LEDGER_H_

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "autobatch/types/observed_memory.h"

namespace autobatch::observer {

// The device memory that this process holds, and the sums of all processes. Thread-safe.
//
//   if (!ledger.Reserve(bytes)) return out_of_memory;
//   if (real_allocate(&address, bytes) fails) { ledger.Refuse(bytes); return its error; }
//   ledger.Keep(address, bytes);
class Ledger {
 public:
  // `shared` outlives it, or is null: then everything is allowed and nothing counted.
  explicit Ledger(ObservedMemory* shared) : shared_(shared) {}
  // Gives everything back, as the driver does with a process's end.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Takes `bytes` of the budget; false, and a refusal on record, when they are not left.
  bool Reserve(int64_t bytes);
  // Gives back what was reserved and could not be had from the driver.
  void Refuse(int64_t bytes);
  // The reserved bytes are at `key`: an address, or a handle.
  void Keep(uint64_t key, int64_t bytes);
  // `key` was freed. Unknown keys (memory from elsewhere) are none of its business.
  void Free(uint64_t key);

 private:
  ObservedMemory* const shared_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, int64_t> held_;
  bool counted_ = false;
};

// Maps the file that kObserverFileVariable names; null where there is none.
ObservedMemory* MapSharedMemory();

}  // namespace autobatch::observer

#endif  // AUTOBATCH_OBSERVER_LEDGER_H_
