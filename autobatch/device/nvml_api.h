#ifndef AUTOBATCH_DEVICE_NVML_API_H_
#define AUTOBATCH_DEVICE_NVML_API_H_

#include <cstdint>

namespace autobatch {

// Names and numbers of NVIDIA's Management Library, as its reference documents them: its header is
// in none of the packages that we build with. Layouts are binary interface: never change them.
using NvmlDevice = void*;

enum NvmlReturn : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlLibraryNotFound = 12,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
  kNvmlLibRmVersionMismatch = 18,
  kNvmlUnknown = 999,
};

// For a number that a driver cannot tell (a process's bytes on WSL, in some containers).
inline constexpr uint64_t kNvmlValueNotAvailable = ~uint64_t{0};

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct NvmlMemoryV2 {
  unsigned int version;
  unsigned long long total;
  // What driver and firmware keep for themselves; within total.
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
inline constexpr unsigned int kNvmlMemoryV2Version = sizeof(NvmlMemoryV2) | (2u << 24);

// Of the functions with suffix _v2 and _v3.
struct NvmlProcess {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
};

// Which list of processes.
enum class NvmlProcessList { kCompute, kGraphics };

// The calls of the C library that we make, one to one, without its reference counting: a real one
// from LoadNvml(), a FakeNvml in tests. A call that the library lacks returns
// kNvmlFunctionNotFound. Thread-safe as NVML is.
class NvmlApi {
 public:
  virtual ~NvmlApi() = default;

  virtual NvmlReturn Init() = 0;
  virtual NvmlReturn Shutdown() = 0;
  virtual NvmlReturn SystemGetDriverVersion(char* version, unsigned int length) = 0;
  virtual NvmlReturn SystemGetCudaDriverVersion(int* version) = 0;
  virtual NvmlReturn DeviceGetCount(unsigned int* count) = 0;
  virtual NvmlReturn DeviceGetHandleByIndex(unsigned int index, NvmlDevice* device) = 0;
  virtual NvmlReturn DeviceGetUuid(NvmlDevice device, char* uuid, unsigned int length) = 0;
  virtual NvmlReturn DeviceGetName(NvmlDevice device, char* name, unsigned int length) = 0;
  virtual NvmlReturn DeviceGetPciInfo(NvmlDevice device, NvmlPciInfo* pci) = 0;
  virtual NvmlReturn DeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) = 0;
  virtual NvmlReturn DeviceGetMemoryInfoV2(NvmlDevice device, NvmlMemoryV2* memory) = 0;
  // `count`: in, room in `processes`; out, how many there are (kNvmlInsufficientSize: more than
  // room).
  virtual NvmlReturn DeviceGetRunningProcesses(NvmlDevice device, NvmlProcessList list,
                                               unsigned int* count, NvmlProcess* processes) = 0;
  virtual NvmlReturn DeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) = 0;
  virtual NvmlReturn DeviceGetNumGpuCores(NvmlDevice device, unsigned int* cores) = 0;
  // MHz of the multiprocessors' clock.
  virtual NvmlReturn DeviceGetMaxSmClock(NvmlDevice device, unsigned int* mhz) = 0;
  // 1 where MIG is on.
  virtual NvmlReturn DeviceGetMigMode(NvmlDevice device, unsigned int* current,
                                      unsigned int* pending) = 0;
  // Slots, some of them empty (kNvmlNotFound by index).
  virtual NvmlReturn DeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned int* count) = 0;
  virtual NvmlReturn DeviceGetMigDeviceHandleByIndex(NvmlDevice device, unsigned int index,
                                                     NvmlDevice* mig) = 0;
  virtual NvmlReturn DeviceGetGpuInstanceId(NvmlDevice mig, unsigned int* id) = 0;
  virtual NvmlReturn DeviceGetComputeInstanceId(NvmlDevice mig, unsigned int* id) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_NVML_API_H_
