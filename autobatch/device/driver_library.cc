#include "autobatch/device/driver_library.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"
#include "autobatch/device/library_function.h"

namespace autobatch {
namespace {

template <typename... Arguments>
using Function = LibraryFunction<DriverResult, kDriverNotFound, Arguments...>;

class DriverLibrary final : public DriverApi {
 public:
  explicit DriverLibrary(DynamicLibrary library) : library_(std::move(library)) {}

  DriverResult Init() override { return init_(0u); }
  DriverResult DriverGetVersion(int* version) override { return version_(version); }
  DriverResult DeviceGetCount(int* count) override { return count_(count); }
  DriverResult DeviceGet(DriverDevice* device, int ordinal) override {
    return get_(device, ordinal);
  }
  DriverResult DeviceGetUuidV2(DriverUuid* uuid, DriverDevice device) override {
    return uuid_(uuid, device);
  }
  DriverResult DeviceGetName(char* name, int length, DriverDevice device) override {
    return name_(name, length, device);
  }
  DriverResult DeviceGetPciBusId(char* id, int length, DriverDevice device) override {
    return pci_bus_id_(id, length, device);
  }
  DriverResult DeviceGetAttribute(int* value, DriverAttribute attribute,
                                  DriverDevice device) override {
    return attribute_(value, static_cast<int>(attribute), device);
  }
  DriverResult DeviceTotalMem(size_t* bytes, DriverDevice device) override {
    return total_mem_(bytes, device);
  }
  std::string Describe(DriverResult result) override {
    const char* name = nullptr;
    const char* text = nullptr;
    // Both leave null behind for a number that this driver does not know.
    error_name_(static_cast<int>(result), &name);
    error_string_(static_cast<int>(result), &text);
    return absl::StrCat(
        name == nullptr ? absl::StrCat("CUDA error ", static_cast<int>(result)) : std::string(name),
        text == nullptr ? "" : ": ", text == nullptr ? "" : text);
  }

 private:
  DynamicLibrary library_;
  Function<unsigned int> init_ = {library_, "cuInit"};
  Function<int*> version_ = {library_, "cuDriverGetVersion"};
  Function<int*> count_ = {library_, "cuDeviceGetCount"};
  Function<DriverDevice*, int> get_ = {library_, "cuDeviceGet"};
  // Before CUDA 11.4: the parent's UUID where the device is a MIG instance.
  Function<DriverUuid*, DriverDevice> uuid_ = {library_, "cuDeviceGetUuid_v2", "cuDeviceGetUuid"};
  Function<char*, int, DriverDevice> name_ = {library_, "cuDeviceGetName"};
  Function<char*, int, DriverDevice> pci_bus_id_ = {library_, "cuDeviceGetPCIBusId"};
  Function<int*, int, DriverDevice> attribute_ = {library_, "cuDeviceGetAttribute"};
  Function<size_t*, DriverDevice> total_mem_ = {library_, "cuDeviceTotalMem_v2"};
  Function<int, const char**> error_name_ = {library_, "cuGetErrorName"};
  Function<int, const char**> error_string_ = {library_, "cuGetErrorString"};
};

}  // namespace

absl::StatusOr<std::unique_ptr<DriverApi>> LoadDriver(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<DriverLibrary>(std::move(library));
}

}  // namespace autobatch
