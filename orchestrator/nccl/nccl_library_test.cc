#include "orchestrator/nccl/nccl_library.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "absl/status/status.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kFake[] = "orchestrator/nccl/libplayed_nccl.so";

class NcclLibraryTest : public ::testing::Test {
 protected:
  ~NcclLibraryTest() override { unsetenv("FAKE_NCCL_VERSION"); }

  static std::string Error(const std::vector<std::string>& candidates) {
    const absl::StatusOr<LoadedNccl> loaded = LoadNccl(candidates);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kFailedPrecondition) << loaded.status();
    return std::string(loaded.status().message());
  }
  static std::string ErrorOfVersion(const char* version) {
    setenv("FAKE_NCCL_VERSION", version, 1);
    return Error({kFake});
  }
};

TEST_F(NcclLibraryTest, Library_IsDescribed) {
  const absl::StatusOr<LoadedNccl> loaded = LoadNccl({"libnone.so.2", kFake});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->description.version, "2.28.9");
  EXPECT_THAT(loaded->description.path, EndsWith("libplayed_nccl.so"));
}

TEST_F(NcclLibraryTest, Arguments_ArriveAsNcclWantsThem) {
  const absl::StatusOr<LoadedNccl> loaded = LoadNccl({kFake});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  NcclApi& nccl = *loaded->api;
  UniqueId id = {};
  EXPECT_EQ(nccl.GetUniqueId(&id), kNcclSuccess);
  EXPECT_EQ(id[127], 'q');
  id.front() = 'a';
  id.back() = 'z';
  NcclHandle handle = nullptr;
  EXPECT_EQ(nccl.GroupStart(), kNcclSuccess);
  EXPECT_EQ(nccl.CommInitRank(&handle, 2, id, 1), kNcclInProgress);
  EXPECT_EQ(nccl.GroupEnd(), kNcclInProgress);
  ASSERT_NE(handle, nullptr);
  NcclResult state = kNcclInProgress;
  EXPECT_EQ(nccl.CommGetAsyncError(handle, &state), kNcclSuccess);
  EXPECT_EQ(state, kNcclSuccess);
  EXPECT_EQ(nccl.AllReduce(64, 1, NcclReduction::kMinInt64, handle, handle), kNcclInProgress);
  EXPECT_EQ(nccl.AllReduce(64, 9, NcclReduction::kSumFloat32, handle, handle), kNcclInProgress);
  EXPECT_EQ(nccl.CommFinalize(handle), kNcclInProgress);
  EXPECT_EQ(nccl.CommDestroy(handle), kNcclSuccess);
  EXPECT_EQ(nccl.CommAbort(handle), kNcclRemoteError);
  EXPECT_EQ(nccl.Describe(kNcclRemoteError, handle), "remote: it said so");
  EXPECT_EQ(nccl.Describe(kNcclRemoteError, nullptr), "remote");
}

TEST_F(NcclLibraryTest, NoLibrary_SaysNoNcclAndWhatWasTried) {
  EXPECT_THAT(Error({"libnone.so.2", "/none/libnccl.so.2"}),
              AllOf(HasSubstr("no NCCL: libnone.so.2: cannot open shared object file"),
                    HasSubstr("; /none/libnccl.so.2: ")));
}

TEST_F(NcclLibraryTest, LibraryWithoutTheFunctions_NamesThem) {
  EXPECT_THAT(Error({"libm.so.6"}),
              AllOf(HasSubstr("no NCCL: "), HasSubstr("has no ncclGetVersion, no ncclGetUniqueId"),
                    HasSubstr("ncclCommAbort")));
}

TEST_F(NcclLibraryTest, OtherVersions_AreRefused) {
  EXPECT_THAT(ErrorOfVersion("21304"), HasSubstr("version 2.13.4 is older than 2.14"));
  EXPECT_THAT(ErrorOfVersion("2804"), HasSubstr("version 2.8.4 is older"));
  EXPECT_THAT(ErrorOfVersion("30000"), HasSubstr("version 3.0.0 is not known"));
  EXPECT_THAT(ErrorOfVersion("-1"), HasSubstr("does not tell its version: other"));
}

TEST_F(NcclLibraryTest, UnusableFirst_IsPassedOver) {
  const absl::StatusOr<LoadedNccl> loaded = LoadNccl({"libm.so.6", kFake});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
}

// The library that the build's LibTorch brings; it makes ids without a GPU.
TEST_F(NcclLibraryTest, RealLibrary_WhereThereIsOne_MakesDifferentIds) {
  const absl::StatusOr<LoadedNccl> loaded = LoadNccl({"libnccl.so.2"});
  if (!loaded.ok()) GTEST_SKIP() << loaded.status();
  UniqueId first = {};
  UniqueId second = {};
  // Only loopback is there in a test.
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  ASSERT_EQ(loaded->api->GetUniqueId(&first), kNcclSuccess);
  ASSERT_EQ(loaded->api->GetUniqueId(&second), kNcclSuccess);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace autobatch
