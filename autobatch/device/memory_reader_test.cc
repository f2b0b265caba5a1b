#include "autobatch/device/memory_reader.h"

#include <gtest/gtest.h>

#include "autobatch/device/fake_nvml.h"

namespace autobatch {
namespace {

std::unique_ptr<FakeNvml> OneGpu() {
  auto nvml = std::make_unique<FakeNvml>();
  FakeNvmlDevice gpu;
  gpu.uuid = "GPU-1";
  gpu.memory = NvmlMemory{.total = 1000, .free = 400, .used = 600};
  gpu.compute = {{.pid = 7, .used_gpu_memory = 250}};
  nvml->gpus = {gpu};
  return nvml;
}

TEST(MemoryReaderTest, EachReading_IsOfNow) {
  auto owned = OneGpu();
  FakeNvml& nvml = *owned;
  DeviceMemoryReader reader(std::move(owned));
  const auto first = reader.Read("gpu-1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->free_bytes, 400);
  EXPECT_EQ(first->total_bytes, 1000);
  ASSERT_EQ(first->others.size(), 1u);
  EXPECT_EQ(first->others[0].pid, 7);
  EXPECT_EQ(first->others[0].bytes, 250);
  nvml.gpus[0].memory->free = 100;
  EXPECT_EQ(reader.Read("GPU-1")->free_bytes, 100);
  EXPECT_EQ(nvml.open, 1) << "open between readings";
}

TEST(MemoryReaderTest, MigInstance_IsReadByItsOwnUuid) {
  auto nvml = OneGpu();
  nvml->gpus[0].mig_enabled = true;
  FakeNvmlDevice instance;
  instance.uuid = "MIG-1";
  instance.memory = NvmlMemory{.total = 200, .free = 150, .used = 50};
  nvml->gpus[0].instances = {instance};
  DeviceMemoryReader reader(std::move(nvml));
  EXPECT_EQ(reader.Read("MIG-1")->free_bytes, 150);
}

TEST(MemoryReaderTest, NoSuchDeviceOrNoNvml_IsSaid) {
  DeviceMemoryReader reader(OneGpu());
  EXPECT_EQ(reader.Read("GPU-2").status().code(), absl::StatusCode::kNotFound);
  DeviceMemoryReader none(nullptr);
  EXPECT_EQ(none.Read("GPU-1").status().code(), absl::StatusCode::kUnavailable);
  auto broken = OneGpu();
  broken->init = kNvmlNoPermission;
  DeviceMemoryReader refused(std::move(broken));
  EXPECT_EQ(refused.Read("GPU-1").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace autobatch
