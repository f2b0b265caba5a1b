#include "autobatch/simcuda/session.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>

#include "autobatch/simcuda/runtime_version.h"

namespace autobatch::simcuda {
namespace {

thread_local int current_ordinal = 0;
thread_local cudaError_t last_error = cudaSuccess;
// The current device once its context is known to exist: what almost every call asks for.
thread_local Device* current_device = nullptr;

std::atomic<cudaError_t> broken = cudaSuccess;
// A context does not outlive a fork; the child may not use it.
std::atomic<bool> any_context = false;

void AfterFork() {
  if (any_context) broken = cudaErrorInitializationError;
}

// Success where the process can use simulated devices at all.
cudaError_t Usable() {
  static const bool supported = [] {
    if (UnsupportedRuntime().empty()) return true;
    std::fprintf(stderr, "simcuda: %s\n", UnsupportedRuntime().c_str());
    return false;
  }();
  if (!supported) return cudaErrorInsufficientDriver;
  return Node::Get().visible().empty() ? cudaErrorNoDevice : cudaSuccess;
}

}  // namespace

int CurrentOrdinal() { return current_ordinal; }

void SetCurrentOrdinal(int ordinal) {
  current_ordinal = ordinal;
  current_device = nullptr;
}

Device* Enter(cudaError_t& error) {
  error = broken.load(std::memory_order_relaxed);
  if (error != cudaSuccess) {
    last_error = error;
    return nullptr;
  }
  if (current_device != nullptr) return current_device;
  error = Usable();
  Device* const device = error == cudaSuccess ? Node::Get().Visible(current_ordinal) : nullptr;
  if (error == cudaSuccess && device == nullptr) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess && !device->CreateContext()) error = cudaErrorMemoryAllocation;
  if (error != cudaSuccess) {
    last_error = error;
    return nullptr;
  }
  if (!any_context.exchange(true)) pthread_atfork(nullptr, nullptr, AfterFork);
  current_device = device;
  return device;
}

cudaError_t Report(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t LastError(bool clear) {
  const cudaError_t error = Broken() == cudaSuccess ? last_error : Broken();
  if (clear) last_error = cudaSuccess;
  return error;
}

void Break(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  broken.compare_exchange_strong(none, error);
}

cudaError_t Broken() { return broken.load(std::memory_order_relaxed); }

bool DeviceLost() { return Broken() == kDeviceLost; }

std::mutex& TableMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace autobatch::simcuda
