#ifndef AUTOBATCH_DEVICE_DRIVER_API_H_
#define AUTOBATCH_DEVICE_DRIVER_API_H_

#include <cstddef>
#include <string>

namespace autobatch {

// Numbers of the CUDA driver's C interface, as its reference documents them. The few that we need
// are declared here, so that the parent builds without any CUDA header.
using DriverDevice = int;

enum DriverResult : int {
  kDriverSuccess = 0,
  kDriverOutOfMemory = 2,
  kDriverNotInitialized = 3,
  kDriverStubLibrary = 34,
  kDriverNoDevice = 100,
  kDriverInvalidDevice = 101,
  kDriverSystemDriverMismatch = 803,
  kDriverCompatNotSupportedOnDevice = 804,
  kDriverNotFound = 500,
  // Work of a stream is not done yet: no error.
  kDriverNotReady = 600,
  kDriverUnknown = 999,
};

enum DriverAttribute : int {
  kDriverAttributeIntegrated = 18,
  kDriverAttributeComputeCapabilityMajor = 75,
  kDriverAttributeComputeCapabilityMinor = 76,
};

struct DriverUuid {
  char bytes[16];
};

// The calls of libcuda that we make, one to one: a real one from LoadDriver(), a FakeDriver in
// tests. No call makes a context: that would cost device memory. A call that the library lacks
// returns kDriverNotFound. Thread-safe as the driver is.
class DriverApi {
 public:
  virtual ~DriverApi() = default;

  // Reads CUDA_VISIBLE_DEVICES, once per process.
  virtual DriverResult Init() = 0;
  // 13000 is 13.0; works before Init.
  virtual DriverResult DriverGetVersion(int* version) = 0;
  virtual DriverResult DeviceGetCount(int* count) = 0;
  virtual DriverResult DeviceGet(DriverDevice* device, int ordinal) = 0;
  // Of the MIG instance where the device is one.
  virtual DriverResult DeviceGetUuidV2(DriverUuid* uuid, DriverDevice device) = 0;
  virtual DriverResult DeviceGetName(char* name, int length, DriverDevice device) = 0;
  virtual DriverResult DeviceGetPciBusId(char* id, int length, DriverDevice device) = 0;
  virtual DriverResult DeviceGetAttribute(int* value, DriverAttribute attribute,
                                          DriverDevice device) = 0;
  virtual DriverResult DeviceTotalMem(size_t* bytes, DriverDevice device) = 0;
  // "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
  virtual std::string Describe(DriverResult result) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DRIVER_API_H_
