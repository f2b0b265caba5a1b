#include "autobatch/device/driver_library.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"

namespace autobatch {
namespace {

template <typename... Arguments>
using Function = int(Arguments...);

template <typename Pointer, typename... Arguments>
DriverResult Call(Pointer function, Arguments... arguments) {
  if (function == nullptr) return kDriverNotFound;
  return static_cast<DriverResult>(function(arguments...));
}

class DriverLibrary final : public DriverApi {
 public:
  explicit DriverLibrary(DynamicLibrary library) : library_(std::move(library)) {
    library_.Find("cuInit", init_);
    library_.Find("cuDriverGetVersion", version_);
    library_.Find("cuDeviceGetCount", count_);
    library_.Find("cuDeviceGet", get_);
    library_.Find("cuDeviceGetUuid_v2", uuid_);
    // Before CUDA 11.4: the parent's UUID where the device is a MIG instance.
    if (uuid_ == nullptr) library_.Find("cuDeviceGetUuid", uuid_);
    library_.Find("cuDeviceGetName", name_);
    library_.Find("cuDeviceGetPCIBusId", pci_bus_id_);
    library_.Find("cuDeviceGetAttribute", attribute_);
    library_.Find("cuDeviceTotalMem_v2", total_mem_);
    library_.Find("cuGetErrorName", error_name_);
    library_.Find("cuGetErrorString", error_string_);
  }

  DriverResult Init() override { return Call(init_, 0u); }
  DriverResult DriverGetVersion(int* version) override { return Call(version_, version); }
  DriverResult DeviceGetCount(int* count) override { return Call(count_, count); }
  DriverResult DeviceGet(DriverDevice* device, int ordinal) override {
    return Call(get_, device, ordinal);
  }
  DriverResult DeviceGetUuidV2(DriverUuid* uuid, DriverDevice device) override {
    return Call(uuid_, uuid, device);
  }
  DriverResult DeviceGetName(char* name, int length, DriverDevice device) override {
    return Call(name_, name, length, device);
  }
  DriverResult DeviceGetPciBusId(char* id, int length, DriverDevice device) override {
    return Call(pci_bus_id_, id, length, device);
  }
  DriverResult DeviceGetAttribute(int* value, DriverAttribute attribute,
                                  DriverDevice device) override {
    return Call(attribute_, value, static_cast<int>(attribute), device);
  }
  DriverResult DeviceTotalMem(size_t* bytes, DriverDevice device) override {
    return Call(total_mem_, bytes, device);
  }
  std::string Describe(DriverResult result) override {
    const char* name = nullptr;
    const char* text = nullptr;
    // Both leave null behind for a number that this driver does not know.
    Call(error_name_, static_cast<int>(result), &name);
    Call(error_string_, static_cast<int>(result), &text);
    return absl::StrCat(
        name == nullptr ? absl::StrCat("CUDA error ", static_cast<int>(result)) : std::string(name),
        text == nullptr ? "" : ": ", text == nullptr ? "" : text);
  }

 private:
  DynamicLibrary library_;
  Function<unsigned int>* init_ = nullptr;
  Function<int*>* version_ = nullptr;
  Function<int*>* count_ = nullptr;
  Function<DriverDevice*, int>* get_ = nullptr;
  Function<DriverUuid*, DriverDevice>* uuid_ = nullptr;
  Function<char*, int, DriverDevice>* name_ = nullptr;
  Function<char*, int, DriverDevice>* pci_bus_id_ = nullptr;
  Function<int*, int, DriverDevice>* attribute_ = nullptr;
  Function<size_t*, DriverDevice>* total_mem_ = nullptr;
  Function<int, const char**>* error_name_ = nullptr;
  Function<int, const char**>* error_string_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DriverApi>> LoadDriver(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<DriverLibrary>(std::move(library));
}

}  // namespace autobatch
