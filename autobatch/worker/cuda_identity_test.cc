#include "autobatch/worker/cuda_identity.h"

#include <gtest/gtest.h>

#include <cstring>

namespace autobatch {
namespace {

cudaDeviceProp Properties(const char* name) {
  cudaDeviceProp properties;
  std::memset(&properties, 0, sizeof(properties));
  std::strncpy(properties.name, name, sizeof(properties.name) - 1);
  for (int i = 0; i < 16; ++i) properties.uuid.bytes[i] = static_cast<char>(0xf0 + i);
  properties.pciDomainID = 1;
  properties.pciBusID = 0xb3;
  properties.major = 8;
  properties.minor = 6;
  properties.totalGlobalMem = std::size_t{24} << 30;
  return properties;
}

TEST(CudaIdentityTest, Device_OfAGpu_IsWrittenAsTheDriverWritesIt) {
  const Device device = DescribeCudaDevice(Properties("NVIDIA GeForce RTX 3090"), 2);
  EXPECT_EQ(device.kind, DeviceKind::kCuda);
  EXPECT_EQ(device.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
  EXPECT_EQ(device.address, "cuda:2");
  EXPECT_EQ(device.pci_bus_id, "00000001:B3:00.0");
  EXPECT_EQ(device.compute_capability, "8.6");
  EXPECT_EQ(device.integrated, false);
  EXPECT_EQ(device.memory.total_bytes, int64_t{24} << 30);
  EXPECT_FALSE(device.memory.free_bytes.has_value());
}

TEST(CudaIdentityTest, Device_OfAMigInstance_IsKnownByItsName) {
  const Device device = DescribeCudaDevice(Properties("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), 0);
  EXPECT_EQ(device.kind, DeviceKind::kMig);
  EXPECT_EQ(device.uuid.substr(0, 12), "MIG-f0f1f2f3");
}

}  // namespace
}  // namespace autobatch
