#include "autobatch/worker/device_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <memory>

namespace autobatch {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(DeviceMemoryTest, Cpu_UnderALimit_RefusesAndKeepsTheRecord) {
  const std::unique_ptr<DeviceMemory> memory = MakeCpuMemory();
  memory->ClearRefusal();
  memory->SetLimit(memory->HeldBytes() + kMiB);
  EXPECT_THROW(at::empty({2 * kMiB}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(memory->RefusedBytes(), 2 * kMiB);
  memory->ClearRefusal();
  EXPECT_FALSE(memory->RefusedBytes().has_value());
  memory->SetLimit(std::nullopt);
  EXPECT_NO_THROW(at::empty({2 * kMiB}, at::kByte));
}

TEST(DeviceMemoryTest, Cpu_Peak_IsOfTheTimeSinceItsReset) {
  const std::unique_ptr<DeviceMemory> memory = MakeCpuMemory();
  {
    at::Tensor tensor = at::empty({4 * kMiB}, at::kByte);
  }
  memory->ResetPeaks();
  const int64_t held = memory->HeldBytes();
  {
    at::Tensor tensor = at::empty({kMiB}, at::kByte);
  }
  EXPECT_EQ(memory->Peak().reserved_bytes - held, kMiB + 64);
  EXPECT_EQ(memory->Peak().allocated_bytes, memory->Peak().reserved_bytes);
}

TEST(DeviceMemoryTest, Cpu_Query_KnowsTheHost) {
  const DeviceMemory::View view = MakeCpuMemory()->Query();
  ASSERT_TRUE(view.total_bytes.has_value());
  ASSERT_TRUE(view.free_bytes.has_value());
  EXPECT_GT(*view.free_bytes, 0);
  EXPECT_LE(*view.free_bytes, *view.total_bytes);
}

TEST(DeviceMemoryTest, Cuda_WithoutADevice_SaysWhyInWords) {
  // An empty list makes any machine one without a device.
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const auto memory = MakeDeviceMemory(DeviceKind::kCuda);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(memory.status().message().empty());
}

}  // namespace
}  // namespace autobatch
