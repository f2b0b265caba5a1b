// A shared library with some of NVML's and the driver's functions, written against their references
// and not against our declarations: it shows that the real adapters find each function by its name
// and pass what it expects. Old as of driver 440: the process lists have no version suffix.

#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {

struct Process {
  unsigned int pid;
  unsigned long long used_gpu_memory;
};

static int device_storage;

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "440.33.01");
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 10020;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 3;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = &device_storage;
  return index == 2 ? 0 : 2;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned int length) {
  std::snprintf(uuid, length, "GPU-%d", device == &device_storage);
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned int length) {
  std::snprintf(name, length, "Tesla");
  return 0;
}
// The structure: 16 characters, five 32-bit numbers, 32 characters.
int nvmlDeviceGetPciInfo_v3(void*, void* pci) {
  std::strcpy(static_cast<char*>(pci) + 36, "00000000:3B:00.0");
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 1000;
  total_free_used[1] = 600;
  total_free_used[2] = 400;
  return 0;
}
// The structure: version, padding, total, reserved, free, used.
int nvmlDeviceGetMemoryInfo_v2(void*, unsigned long long* memory) {
  if (static_cast<unsigned int>(memory[0]) != (40u | (2u << 24))) return 25;
  memory[1] = 1000;
  memory[2] = 100;
  memory[3] = 600;
  memory[4] = 300;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void*, unsigned int* count, Process* processes) {
  const unsigned int room = *count;
  *count = 2;
  if (room < 2) return 7;
  processes[0] = {11, 110};
  processes[1] = {12, 120};
  return 0;
}
// The structure: pid, padding, bytes, gpu instance, compute instance.
int nvmlDeviceGetGraphicsRunningProcesses_v2(void*, unsigned int* count,
                                             unsigned long long* processes) {
  *count = 1;
  processes[0] = 21;
  processes[1] = 210;
  processes[2] = 3;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 7;
  *minor = 5;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned int* mhz) {
  *mhz = clock == 1 ? 1590 : 0;
  return 0;
}

int cuInit(unsigned int flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal + 40;
  return 0;
}
int cuDeviceGetUuid_v2(char* uuid, int device) {
  std::memset(uuid, device, 16);
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "Tesla");
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int length, int) {
  std::snprintf(id, static_cast<size_t>(length), "0000:3b:00.0");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 18 ? 1 : attribute == 75 ? 7 : attribute == 76 ? 5 : -1;
  return device == 40 ? 0 : 101;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = 900;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  if (error != 100) return 1;
  *name = "CUDA_ERROR_NO_DEVICE";
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  if (error != 100) return 1;
  *text = "no CUDA-capable device is detected";
  return 0;
}

}  // extern "C"
