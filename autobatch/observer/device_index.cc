#include "autobatch/observer/device_index.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "autobatch/observer/real_function.h"

namespace autobatch::observer {
namespace {

constexpr int kSuccess = 0;
constexpr size_t kUuidBytes = sizeof(ObservedDevices{}.uuids[0]);

constinit Real real_init("cuInit");
constinit Real real_device_get("cuDeviceGet");
constinit Real real_uuid("cuDeviceGetUuid_v2");
constinit Real real_old_uuid("cuDeviceGetUuid");
constinit Real real_context_device("cuCtxGetDevice");
constinit Real real_runtime_device("cudaGetDevice");

// The runtime loads the driver at its first call, which may be the one that asks.
void LoadDriver() {
  if (real_init.Get<int (*)(unsigned)>() == nullptr) dlopen("libcuda.so.1", RTLD_LAZY);
}

bool ReadUuid(int ordinal, unsigned char* uuid) {
  LoadDriver();
  const auto init = real_init.Get<int (*)(unsigned)>();
  const auto get = real_device_get.Get<int (*)(int*, int)>();
  auto ask = real_uuid.Get<int (*)(unsigned char*, int)>();
  if (ask == nullptr) ask = real_old_uuid.Get<int (*)(unsigned char*, int)>();
  int device = 0;
  return init != nullptr && get != nullptr && ask != nullptr && init(0) == kSuccess &&
         get(&device, ordinal) == kSuccess && ask(uuid, device) == kSuccess;
}

int Find(const ObservedDevices& trial, int ordinal) {
  unsigned char uuid[kUuidBytes] = {};
  const bool known = ReadUuid(ordinal, uuid);
  const unsigned char none[kUuidBytes] = {};
  bool unknown_there = false;
  for (int i = 0; i < trial.count; ++i) {
    if (known && std::memcmp(trial.uuids[i], uuid, kUuidBytes) == 0) return i;
    unknown_there |= std::memcmp(trial.uuids[i], none, kUuidBytes) == 0;
  }
  const bool by_number = !known || unknown_there;
  return by_number && ordinal >= 0 && ordinal < trial.count ? ordinal : kNoDevice;
}

}  // namespace

int IndexOfOrdinal(const ObservedDevices& trial, int ordinal) {
  if (trial.count <= 1) return 0;
  if (ordinal < 0 || ordinal >= kMostObservedDevices) return kNoDevice;
  // A device's number does not change in a process's life. Stored as index + 2: 0 is not asked yet.
  static std::atomic<int> found[kMostObservedDevices];
  int known = found[ordinal];
  if (known == 0) found[ordinal] = known = Find(trial, ordinal) + 2;
  return known - 2;
}

int IndexOfContext(const ObservedDevices& trial) {
  if (trial.count <= 1) return 0;
  const auto ask = real_context_device.Get<int (*)(int*)>();
  int ordinal = 0;
  if (ask == nullptr || ask(&ordinal) != kSuccess) return kNoDevice;
  return IndexOfOrdinal(trial, ordinal);
}

int IndexOfRuntime(const ObservedDevices& trial) {
  if (trial.count <= 1) return 0;
  const auto ask = real_runtime_device.Get<int (*)(int*)>();
  int ordinal = 0;
  if (ask == nullptr || ask(&ordinal) != kSuccess) return kNoDevice;
  return IndexOfOrdinal(trial, ordinal);
}

}  // namespace autobatch::observer
