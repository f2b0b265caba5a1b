#include "autobatch/probe/result_cache.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

class ResultCacheTest : public testing::Test {
 protected:
  ResultCacheTest() : folder_(testing::TempDir() + "/result_cache_test"), cache_(folder_) {
    std::filesystem::remove_all(folder_);
  }

  CacheKey Key() const { return MakeCacheKey(spec_, device_, "580.1", "2.11.0", 1); }

  ProbeSpec spec_;
  Device device_{.uuid = "GPU-1", .name = "card", .memory = {.total_bytes = 1000}};
  std::string folder_;
  ResultCache cache_;
};

TEST_F(ResultCacheTest, SameQuestion_FindsTheAnswer) {
  EXPECT_EQ(cache_.Find(Key()).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(cache_.Store(Key(), {.batch = 48}).ok());
  EXPECT_EQ(cache_.Find(Key())->batch, 48);
  ASSERT_TRUE(cache_.Store(Key(), {.batch = 40}).ok());
  EXPECT_EQ(cache_.Find(Key())->batch, 40);
}

TEST_F(ResultCacheTest, AnythingElse_IsAnotherQuestion) {
  ASSERT_TRUE(cache_.Store(Key(), {.batch = 48}).ok());
  const CacheKey old = Key();
  spec_.headroom_bytes = 1;
  EXPECT_FALSE(cache_.Find(Key()).ok());
  spec_ = {};
  spec_.workload.image_size = 256;
  EXPECT_FALSE(cache_.Find(Key()).ok());
  spec_ = {};
  device_.memory.total_bytes = 999;
  EXPECT_FALSE(cache_.Find(Key()).ok());
  EXPECT_TRUE(cache_.Find(old).ok());
  EXPECT_FALSE(cache_.Find(MakeCacheKey(spec_, device_, "581.0", "2.11.0", 1)).ok());
}

TEST_F(ResultCacheTest, ChangedTorchScriptFile_IsAnotherQuestion) {
  spec_.workload.kind = WorkloadKind::kTorchScript;
  spec_.workload.name = folder_ + "/model.pt";
  ASSERT_TRUE(WriteFileAtomically(spec_.workload.name, "one").ok());
  ASSERT_TRUE(cache_.Store(Key(), {.batch = 48}).ok());
  EXPECT_TRUE(cache_.Find(Key()).ok());
  ASSERT_TRUE(WriteFileAtomically(spec_.workload.name, "two, longer").ok());
  EXPECT_FALSE(cache_.Find(Key()).ok());
}

TEST_F(ResultCacheTest, DamagedFile_IsNamedAndReplaced) {
  for (const char* damage : {"", "{\"schema\":", "[]", "{}", R"({"schema":"other"})"}) {
    ASSERT_TRUE(WriteFileAtomically(cache_.PathFor(Key()), damage).ok());
    const auto found = cache_.Find(Key());
    EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss) << damage;
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(cache_.PathFor(Key())));
    ASSERT_TRUE(cache_.Store(Key(), {.batch = 48}).ok());
    EXPECT_EQ(cache_.Find(Key())->batch, 48);
  }
}

TEST_F(ResultCacheTest, AnotherKeyUnderTheSameName_IsNotBelieved) {
  ASSERT_TRUE(cache_.Store(Key(), {.batch = 48}).ok());
  const std::string text = *ReadFile(cache_.PathFor(Key()));
  device_.uuid = "GPU-2";
  ASSERT_TRUE(WriteFileAtomically(cache_.PathFor(Key()), text).ok());
  EXPECT_EQ(cache_.Find(Key()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ResultCacheTest, FolderThatCannotBe_IsAnErrorThatNamesIt) {
  const ResultCache cache("/proc/nothing");
  EXPECT_THAT(std::string(cache.Store(Key(), {.batch = 1}).message()), HasSubstr("/proc/nothing"));
}

}  // namespace
}  // namespace autobatch
