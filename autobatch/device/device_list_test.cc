#include "autobatch/device/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/device/fake_driver.h"
#include "autobatch/device/fake_host.h"
#include "autobatch/device/fake_nvml.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeviceListTest : public testing::Test {
 protected:
  DeviceListTest() {
    sources_.no_driver = "no NVIDIA driver";
    sources_.host_name = "node1";
  }

  // `gpus` like ones.
  void AddGpus(int gpus) {
    auto driver = std::make_unique<FakeDriver>();
    driver_ = driver.get();
    sources_.driver = std::move(driver);
    auto nvml = std::make_unique<FakeNvml>();
    nvml_ = nvml.get();
    sources_.nvml = std::move(nvml);
    for (int i = 0; i < gpus; ++i) {
      nvml_->gpus.push_back({.uuid = absl::StrCat("GPU-", i, "a"),
                             .bus_id = absl::StrCat("00000000:", 10 + i, ":00.0"),
                             .memory = NvmlMemory{.total = 1000, .free = 900}});
    }
  }

  absl::StatusOr<DeviceList> List(absl::string_view text) {
    absl::StatusOr<DeviceRequest> request = ParseDeviceRequest(text);
    EXPECT_TRUE(request.ok()) << request.status();
    return ListDevices(*request, sources_);
  }

  DeviceList Ok(absl::string_view text) {
    absl::StatusOr<DeviceList> list = List(text);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *std::move(list) : DeviceList();
  }

  std::string NotFound(absl::string_view text) {
    const absl::Status status = List(text).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    return std::string(status.message());
  }

  FakeHost host_;
  DeviceSources sources_ = host_.Sources();
  FakeDriver* driver_ = nullptr;
  FakeNvml* nvml_ = nullptr;
};

std::vector<std::string> Uuids(const std::vector<Device>& devices) {
  std::vector<std::string> uuids;
  uuids.reserve(devices.size());
  for (const Device& device : devices) uuids.push_back(device.uuid);
  return uuids;
}

TEST_F(DeviceListTest, NoDriver_CpuStandsInAndTheReasonIsSaid) {
  const DeviceList list = Ok("");
  ASSERT_THAT(list.devices, SizeIs(1));
  EXPECT_EQ(list.devices[0].kind, DeviceKind::kCpu);
  EXPECT_THAT(list.visible, IsEmpty());
  EXPECT_THAT(list.warnings,
              ElementsAre(AllOf(HasSubstr("CPU is used"), HasSubstr("no NVIDIA driver"))));
  EXPECT_THAT(NotFound("cuda"), AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("--device=cpu")));
}

TEST_F(DeviceListTest, CpuAskedFor_GpusAreNotLookedAt) {
  AddGpus(2);
  nvml_->init = kNvmlLibRmVersionMismatch;
  const DeviceList list = Ok("cpu");
  EXPECT_EQ(list.devices[0].address, "cpu");
  EXPECT_THAT(list.warnings, IsEmpty());
}

TEST_F(DeviceListTest, MemoryLimitBeyondWhatThereIs_IsAWarning) {
  host_.Write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  DeviceRequest request = {.kind = DeviceRequest::Kind::kCpu, .cpu_memory_limit = 6 * kGiB};
  const absl::StatusOr<DeviceList> list = ListDevices(request, sources_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->devices[0].memory.free_bytes, 3 * kGiB);
  EXPECT_THAT(list->warnings, ElementsAre(HasSubstr("less memory than the limit")));
}

TEST_F(DeviceListTest, VisibleDevices_ComeInOrderWithTheirOrigin) {
  AddGpus(4);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "2,0";
  const DeviceList list = Ok("");
  EXPECT_THAT(Uuids(list.devices), ElementsAre("GPU-2a", "GPU-0a"));
  EXPECT_EQ(list.devices[0].origin, "CUDA_VISIBLE_DEVICES=2,0 entry 1 of 2");
  EXPECT_EQ(list.devices[1].origin, "CUDA_VISIBLE_DEVICES=2,0 entry 2 of 2");
  EXPECT_EQ(list.devices[0].address, "cuda:0");
  EXPECT_EQ(list.devices[0].visible_index, 0);
  EXPECT_EQ(list.devices[0].physical_ordinal, 2);
  EXPECT_EQ(list.cuda_visible_devices, "2,0");
  EXPECT_EQ(list.driver_version, "580.65.06");
  EXPECT_EQ(list.cuda_driver_version, "13.0");
  EXPECT_THAT(list.warnings, IsEmpty());
  EXPECT_EQ(driver_->inits, 0) << "NVML told everything: the driver need not start here";
}

TEST_F(DeviceListTest, Indices_CountVisibleDevices) {
  AddGpus(4);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "3,2,1";
  const DeviceList list = Ok("cuda:2,0");
  EXPECT_THAT(Uuids(list.devices), ElementsAre("GPU-1a", "GPU-3a"));
  EXPECT_EQ(list.devices[0].address, "cuda:2");
  EXPECT_THAT(list.visible, SizeIs(3));
}

TEST_F(DeviceListTest, IndexOutOfRange_SaysWhatIsVisible) {
  AddGpus(4);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "3,2";
  EXPECT_THAT(NotFound("cuda:0,2"),
              AllOf(HasSubstr("no device cuda:2"), HasSubstr("cuda:1 (NVIDIA A100-SXM4-80GB)"),
                    HasSubstr("CUDA_VISIBLE_DEVICES=3,2")));
}

TEST_F(DeviceListTest, ListCut_IsAWarning) {
  AddGpus(2);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "1,2,0";
  const DeviceList list = Ok("cuda");
  EXPECT_THAT(Uuids(list.devices), ElementsAre("GPU-1a"));
  EXPECT_THAT(list.warnings, ElementsAre(HasSubstr("entry 2 of 3 ('2')")));
}

TEST_F(DeviceListTest, NothingVisible_CpuStandsInOrNotFoundWithTheReason) {
  AddGpus(2);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_THAT(NotFound("cuda"), HasSubstr("set and empty"));
  EXPECT_EQ(Ok("").devices[0].kind, DeviceKind::kCpu);
  host_.environment["CUDA_VISIBLE_DEVICES"] = "0,0";
  EXPECT_THAT(NotFound("cuda"), HasSubstr("same device as entry 1"));
}

TEST_F(DeviceListTest, DriverTooOld_IsNamedAndTheCpuDoesNotStandIn) {
  AddGpus(1);
  driver_->version = 12040;
  EXPECT_THAT(NotFound(""), AllOf(HasSubstr("supports CUDA 12.4, this build needs 13.0"),
                                  HasSubstr("--device=cpu")));
}

TEST_F(DeviceListTest, LibraryMismatch_IsNamedAndTheCpuDoesNotStandIn) {
  AddGpus(1);
  nvml_->init = kNvmlLibRmVersionMismatch;
  EXPECT_THAT(NotFound(""), HasSubstr("different versions"));
}

TEST_F(DeviceListTest, Verdict_TheDriverIsBelieved) {
  AddGpus(2);
  const DeviceList ours = Ok("");
  std::vector<Device> drivers = {ours.visible[1]};
  const absl::StatusOr<DeviceList> list = ApplyVerdict({}, sources_, ours, drivers);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(Uuids(list->devices), ElementsAre("GPU-1a"));
  EXPECT_EQ(list->devices[0].address, "cuda:0");
  EXPECT_THAT(list->warnings, Contains(HasSubstr("the CUDA driver enumerates 1")));
}

TEST_F(DeviceListTest, Verdict_IndexThatTheDriverDoesNotShowIsNotFound) {
  AddGpus(2);
  const DeviceRequest request = {.kind = DeviceRequest::Kind::kCuda, .indices = {1}};
  const absl::StatusOr<DeviceList> ours = ListDevices(request, sources_);
  ASSERT_TRUE(ours.ok()) << ours.status();
  const std::vector<Device> drivers = {ours->visible[0]};
  EXPECT_TRUE(absl::IsNotFound(ApplyVerdict(request, sources_, *ours, drivers).status()));
}

TEST_F(DeviceListTest, Verdict_DriverShowsNone_CpuStandsInOrNotFound) {
  AddGpus(1);
  const DeviceList ours = Ok("");
  const absl::StatusOr<DeviceList> list = ApplyVerdict({}, sources_, ours, {});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->devices[0].kind, DeviceKind::kCpu);
  EXPECT_TRUE(absl::IsNotFound(
      ApplyVerdict({.kind = DeviceRequest::Kind::kCuda}, sources_, ours, {}).status()));
}

TEST_F(DeviceListTest, Verdict_CpuListStaysAsItIs) {
  const DeviceList cpu = Ok("cpu");
  const absl::StatusOr<DeviceList> list = ApplyVerdict({}, sources_, cpu, {});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->devices[0].kind, DeviceKind::kCpu);
  EXPECT_THAT(list->warnings, IsEmpty());
}

}  // namespace
}  // namespace autobatch
