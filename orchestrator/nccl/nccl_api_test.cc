#include "orchestrator/nccl/nccl_api.h"

#include <gtest/gtest.h>

#if AUTOBATCH_HAVE_NCCL
#include <nccl.h>

#include <cstddef>
#endif

namespace autobatch {
namespace {

#if AUTOBATCH_HAVE_NCCL
TEST(NcclApiTest, Numbers_AreThoseOfTheHeader) {
  EXPECT_EQ(sizeof(ncclUniqueId), kUniqueIdBytes);
  EXPECT_EQ(static_cast<int>(kNcclSuccess), ncclSuccess);
  EXPECT_EQ(static_cast<int>(kNcclUnhandledCudaError), ncclUnhandledCudaError);
  EXPECT_EQ(static_cast<int>(kNcclSystemError), ncclSystemError);
  EXPECT_EQ(static_cast<int>(kNcclInternalError), ncclInternalError);
  EXPECT_EQ(static_cast<int>(kNcclInvalidArgument), ncclInvalidArgument);
  EXPECT_EQ(static_cast<int>(kNcclInvalidUsage), ncclInvalidUsage);
  EXPECT_EQ(static_cast<int>(kNcclRemoteError), ncclRemoteError);
  EXPECT_EQ(static_cast<int>(kNcclInProgress), ncclInProgress);
}

// What nccl_library.cc writes out for itself.
TEST(NcclApiTest, ConfigurationAndTypes_AreThoseOfTheHeader) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(config.magic, 0xcafebeefu);
  EXPECT_EQ(offsetof(ncclConfig_t, magic), sizeof(size_t));
  EXPECT_EQ(offsetof(ncclConfig_t, version), sizeof(size_t) + 4);
  EXPECT_EQ(offsetof(ncclConfig_t, blocking), sizeof(size_t) + 8);
  EXPECT_EQ(NCCL_VERSION(2, 14, 0), 21400);
  EXPECT_EQ(static_cast<int>(ncclInt64), 4);
  EXPECT_EQ(static_cast<int>(ncclFloat32), 7);
  EXPECT_EQ(static_cast<int>(ncclSum), 0);
  EXPECT_EQ(static_cast<int>(ncclMin), 3);
}
#else
TEST(NcclApiTest, Header_IsNotThere) { GTEST_SKIP() << "this LibTorch brings no nccl.h"; }
#endif

}  // namespace
}  // namespace autobatch
