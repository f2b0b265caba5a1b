#include "orchestrator/service/sealed_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "orchestrator/net/seal.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// A seal that depends on every byte and on the secret; the real one is of orchestrator/net.
Seal SealOf(const std::string& secret) {
  return [secret](absl::string_view text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : absl::StrCat(secret, text)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
  };
}

SealedFile FileNamed(absl::string_view name) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/sealed_file_test_", name);
  std::filesystem::remove_all(folder);
  return SealedFile(folder + "/state", SealOf("secret"));
}

TEST(SealedFileTest, WhatWasWritten_IsReadBack) {
  const SealedFile file = FileNamed("back");
  for (const std::string content : {"", "{\"round\": 7}", "two\nlines\n"}) {
    ASSERT_TRUE(file.Write(content).ok());
    const auto back = file.Read();
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, content);
  }
}

TEST(SealedFileTest, WhatWasForeseen_CountsOnceItIsWritten) {
  const SealedFile file = FileNamed("foreseen");
  ASSERT_TRUE(file.Foresee("two").ok());
  EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(file.Write("one").ok()) << "it came otherwise";
  EXPECT_EQ(*file.Read(), "one");
  ASSERT_TRUE(file.Write("two").ok());
  EXPECT_EQ(*file.Read(), "two");
  EXPECT_FALSE(std::filesystem::exists(file.foreseen_path())) << "it was renamed";
  ASSERT_TRUE(file.Write("two").ok());
  EXPECT_EQ(*file.Read(), "two");
}

TEST(SealedFileTest, NoFile_IsNotFound) {
  const SealedFile file = FileNamed("none");
  EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kNotFound);
}

TEST(SealedFileTest, CutAnywhere_IsDataLossThatNamesTheFile) {
  const SealedFile file = FileNamed("torn");
  ASSERT_TRUE(file.Write("{\"round\": 7}").ok());
  const std::string whole = *ReadFile(file.path());
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(WriteFileAtomically(file.path(), whole.substr(0, length)).ok());
    const absl::Status status = file.Read().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << length;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file.path()));
  }
}

TEST(SealedFileTest, AnyByteChanged_IsDataLoss) {
  const SealedFile file = FileNamed("tampered");
  ASSERT_TRUE(file.Write("{\"round\": 7}").ok());
  const std::string whole = *ReadFile(file.path());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(file.path(), changed).ok());
    EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kDataLoss) << at;
  }
}

TEST(SealedFileTest, AnotherSecret_IsDataLossThatSaysSo) {
  const SealedFile file = FileNamed("secret");
  ASSERT_TRUE(file.Write("{}").ok());
  const absl::Status status = SealedFile(file.path(), SealOf("other")).Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another secret"));
}

TEST(SealedFileTest, SealThatCannotBeMade_OpensNothing) {
  const SealedFile file = FileNamed("empty");
  ASSERT_TRUE(WriteFileAtomically(file.path(), "autobatch.sealed.v1 2 \n{}").ok());
  const SealedFile without(file.path(), [](absl::string_view) { return ""; });
  EXPECT_EQ(without.Read().status().code(), absl::StatusCode::kDataLoss);
}

TEST(SealedFileTest, FullDisk_IsAnErrorThatNamesThePath) {
  const absl::Status status = SealedFile("/dev/full", SealOf("secret")).Write("{}");
  EXPECT_EQ(status.code(), absl::ErrnoToStatusCode(ENOSPC));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full"));
}

TEST(SealedFileTest, FolderThatCannotBeWritten_KeepsTheOldFile) {
  // As root, permissions stop nobody: a file where the folder should be does.
  const SealedFile file = FileNamed("unwritable");
  ASSERT_TRUE(file.Write("old").ok());
  const SealedFile below(file.path() + "/state", SealOf("secret"));
  EXPECT_THAT(std::string(below.Write("new").message()), HasSubstr(below.path()));
  EXPECT_EQ(*file.Read(), "old");
}

}  // namespace
}  // namespace autobatch
