#include "autobatch/observer/ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace autobatch::observer {

Ledger::~Ledger() {
  if (shared_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (counted_) ++shared_->ended;
  for (const auto& [key, bytes] : held_) shared_->held_bytes -= bytes;
  held_.clear();
}

bool Ledger::Reserve(int64_t bytes) {
  if (shared_ == nullptr) return true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!counted_) ++shared_->processes;
    counted_ = true;
  }
  const int64_t held = shared_->held_bytes += bytes;
  const int64_t budget = shared_->budget_bytes;
  if (budget > 0 && held > budget) {
    Refuse(bytes);
    return false;
  }
  int64_t peak = shared_->peak_bytes;
  while (held > peak && !shared_->peak_bytes.compare_exchange_weak(peak, held)) {
  }
  return true;
}

void Ledger::Refuse(int64_t bytes) {
  if (shared_ == nullptr) return;
  shared_->held_bytes -= bytes;
  shared_->refused_bytes = bytes;
  ++shared_->refusals;
}

void Ledger::Keep(uint64_t key, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_[key] += bytes;
}

void Ledger::Free(uint64_t key) {
  if (shared_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  shared_->held_bytes -= found->second;
  held_.erase(found);
}

ObservedMemory* MapSharedMemory() {
  const char* path = std::getenv(kObserverFileVariable);
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(ObservedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<ObservedMemory*>(memory);
}

}  // namespace autobatch::observer
