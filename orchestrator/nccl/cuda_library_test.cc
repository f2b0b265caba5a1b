#include "orchestrator/nccl/cuda_library.h"

#include <gmock/gmock.h>

#include "absl/status/status.h"

namespace autobatch {
namespace {

TEST(CudaLibraryTest, MissingDriver_IsNotFound) {
  EXPECT_EQ(LoadCuda("libnone.so.7").status().code(), absl::StatusCode::kNotFound);
}

TEST(CudaLibraryTest, MissingFunctions_SayNotFound) {
  // A library that is there, and no driver.
  const absl::StatusOr<std::unique_ptr<CudaApi>> cuda = LoadCuda("libm.so.6");
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  CudaContext* context = nullptr;
  CudaStream* stream = nullptr;
  uint64_t address = 0;
  size_t bytes = 0;
  EXPECT_EQ((*cuda)->PrimaryContextRetain(&context, 0), kDriverNotFound);
  EXPECT_EQ((*cuda)->ContextSetCurrent(context), kDriverNotFound);
  EXPECT_EQ((*cuda)->MemGetInfo(&bytes, &bytes), kDriverNotFound);
  EXPECT_EQ((*cuda)->MemAlloc(&address, 1), kDriverNotFound);
  EXPECT_EQ((*cuda)->CopyToDevice(address, &bytes, 1), kDriverNotFound);
  EXPECT_EQ((*cuda)->CopyToHost(&bytes, address, 1), kDriverNotFound);
  EXPECT_EQ((*cuda)->StreamCreate(&stream), kDriverNotFound);
  EXPECT_EQ((*cuda)->StreamQuery(stream), kDriverNotFound);
}

}  // namespace
}  // namespace autobatch
