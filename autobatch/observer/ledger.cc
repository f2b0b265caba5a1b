#include "autobatch/observer/ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

namespace autobatch::observer {

Ledger::~Ledger() {
  if (shared_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int device = 0; device < kMostObservedDevices; ++device) {
    if (counted_[device]) ++shared_->devices[device].ended;
  }
  for (const auto& [key, held] : held_) shared_->devices[held.device].held_bytes -= held.bytes;
  held_.clear();
}

bool Ledger::Reserve(int device, int64_t bytes) {
  if (shared_ == nullptr) return true;
  ObservedMemory& memory = shared_->devices[device];
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!counted_[device]) ++memory.processes;
    counted_[device] = true;
  }
  const int64_t held = memory.held_bytes += bytes;
  const int64_t budget = memory.budget_bytes;
  if (budget > 0 && held > budget) {
    Refuse(device, bytes);
    return false;
  }
  int64_t peak = memory.peak_bytes;
  while (held > peak && !memory.peak_bytes.compare_exchange_weak(peak, held)) {
  }
  if (held > peak) NoteRise(device, held);
  return true;
}

void Ledger::NoteRise(int device, int64_t held) {
  ObservedRises& rises = shared_->rises[device];
  int64_t last = rises.last_peak_bytes;
  do {
    if (held <= last + last / 100) return;
  } while (!rises.last_peak_bytes.compare_exchange_weak(last, held));
  const int64_t index = rises.count++;
  if (index >= ObservedRises::kMost) return;
  rises.rises[index].launches = shared_->launches.load();
  rises.rises[index].peak_bytes = held;
}

void Ledger::Refuse(int device, int64_t bytes) {
  if (shared_ == nullptr) return;
  ObservedMemory& memory = shared_->devices[device];
  memory.held_bytes -= bytes;
  memory.refused_bytes = bytes;
  ++memory.refusals;
}

void Ledger::Keep(int device, uint64_t key, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Held& held = held_.try_emplace(key, Held{device, 0}).first->second;
  held.bytes += bytes;
}

void Ledger::Free(uint64_t key) {
  if (shared_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  shared_->devices[found->second.device].held_bytes -= found->second.bytes;
  held_.erase(found);
}

Ledger& TheLedger() {
  static Ledger* const ledger = new Ledger(MapSharedMemory());
  return *ledger;
}

ObservedDevices* MapSharedMemory() {
  const char* path = std::getenv(kObserverFileVariable);
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  constexpr size_t kBytes = sizeof(ObservedDevices);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<ObservedDevices*>(memory);
}

}  // namespace autobatch::observer
