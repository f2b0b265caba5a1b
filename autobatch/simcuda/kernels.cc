#include "autobatch/simcuda/kernels.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/fill_kernel.h"
#include "autobatch/simcuda/known_kernels.h"
#include "autobatch/simcuda/phases.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

namespace autobatch::simcuda {
namespace {

constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kMostThreadsZ = 64;
constexpr uint32_t kMostGridYZ = 65535;
constexpr uint32_t kMostGridX = 0x7fffffff;

struct Registered {
  KernelModule* module;
  const void* host_function;
  const char* name;
};

// Registration happens before main, in one thread or under the loader's lock; the index is made
// when the first kernel is asked for and again after more were registered.
struct Registry {
  std::mutex mutex;
  std::deque<KernelModule> modules;
  std::vector<Registered> registered;
  size_t indexed = 0;
  std::unordered_map<const void*, Kernel> kernels;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

thread_local Kernel* last_kernel = nullptr;
std::atomic<uint64_t> launches = 0;

bool ValidConfiguration(dim3 grid, dim3 block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return false;
  }
  return block.x <= kMostThreads && block.y <= kMostThreads && block.z <= kMostThreadsZ &&
         uint64_t{block.x} * block.y * block.z <= kMostThreads && grid.x <= kMostGridX &&
         grid.y <= kMostGridYZ && grid.z <= kMostGridYZ;
}

// Lazy loading: a kernel takes memory when it is first used.
cudaError_t Load(Kernel& kernel, Device& device, uint64_t bit) {
  const std::lock_guard lock(TheRegistry().mutex);
  if ((kernel.loaded & bit) != 0) return cudaSuccess;
  if (kernel.module != nullptr) {
    if (!kernel.module->binary) kernel.module->binary = ReadFatBinary(kernel.module->wrapper);
    if (!PickCode(*kernel.module->binary, device.card().compute_capability())) {
      return cudaErrorNoKernelImageForDevice;
    }
  }
  const Node& node = Node::Get();
  if (!device.TakeMemory(node.model().Kernel(node.driver_version()))) {
    return cudaErrorMemoryAllocation;
  }
  kernel.fill_bytes = FillElementBytes(kernel.name);
  kernel.loaded |= bit;
  return cudaSuccess;
}

// What the kernel does to the bytes that are kept. What it computes of those that others send is
// there when these have come; the rest takes place at once, as that is all it costs.
void Write(const Kernel& kernel, Device& device, dim3 grid, void** arguments, cudaStream_t stream) {
  if (kernel.fill_bytes != 0 && arguments != nullptr) {
    const Fill fill = ReadFillArguments(arguments);
    if (device.Owns(fill.address)) {
      device.kept().Fill(device.OffsetOf(fill.address), fill.element, kernel.fill_bytes,
                         fill.count);
      return;
    }
  }
  if (!device.kept().any() && TailOf(stream) == nullptr) return;
  if (Effect effect = KnownEffect(kernel.name, arguments, grid.y)) {
    return RunAfter(stream, [effect = std::move(effect), &device] { effect(device); });
  }
  if (device.kept().any()) ForgetWritten(kernel.name, arguments, device);
}

}  // namespace

KernelModule* RegisterModule(const void* wrapper) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  return &registry.modules.emplace_back(KernelModule{.wrapper = wrapper, .binary = {}});
}

void RegisterKernel(KernelModule* module, const void* host_function, const char* name) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.registered.push_back({module, host_function, name});
}

Kernel* FindKernel(const void* host_function) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (; registry.indexed < registry.registered.size(); ++registry.indexed) {
    const Registered& entry = registry.registered[registry.indexed];
    Kernel& kernel = registry.kernels[entry.host_function];
    kernel.name = entry.name;
    kernel.module = entry.module;
  }
  return &registry.kernels[host_function];
}

std::optional<PickedCode> CodeFor(Kernel& kernel, const Device& device) {
  const int capability = device.card().compute_capability();
  const std::lock_guard lock(TheRegistry().mutex);
  if (kernel.module == nullptr) return PickedCode{.binary = capability, .ptx = capability};
  if (!kernel.module->binary) kernel.module->binary = ReadFatBinary(kernel.module->wrapper);
  return PickCode(*kernel.module->binary, capability);
}

cudaError_t Launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream) {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return error;
  if (!ValidConfiguration(grid, block)) return Report(cudaErrorInvalidConfiguration);
  if (shared_bytes > device->card().shared_per_block) return Report(cudaErrorInvalidValue);
  last_kernel = kernel;
  const uint64_t bit = uint64_t{1} << (device->bus() % 64);
  if ((kernel->loaded & bit) == 0) {
    error = Load(*kernel, *device, bit);
    if (error != cudaSuccess) return Report(error);
  }
  Write(*kernel, *device, grid, arguments, stream);
  launches.fetch_add(1, std::memory_order_relaxed);
  PhaseAtLaunch(/*by_library=*/false);
  FaultsAtLaunch(*device);
  return Report(Broken());
}

void LibraryLaunch() {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return;
  device->kept().Forget();
  launches.fetch_add(1, std::memory_order_relaxed);
  PhaseAtLaunch(/*by_library=*/true);
  FaultsAtLaunch(*device);
}

cudaError_t CollectiveLaunch() {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return error;
  last_kernel = nullptr;
  launches.fetch_add(1, std::memory_order_relaxed);
  FaultsAtLaunch(*device);
  return Broken();
}

const std::string& LastKernelName() {
  static const auto* const none = new std::string;
  return last_kernel == nullptr ? *none : last_kernel->name;
}

uint64_t LaunchCount() { return launches.load(std::memory_order_relaxed); }

}  // namespace autobatch::simcuda
