#include "orchestrator/net/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = "correct horse battery staple";

std::string WriteFile(const std::string& name, const std::string& content, mode_t mode) {
  const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/", name);
  unlink(path.c_str());
  std::ofstream(path) << content;
  chmod(path.c_str(), mode);
  return path;
}

TEST(SecretTest, FromFile_OwnerOnly_ContentLessLineEnd) {
  for (const char* end : {"", "\n", "\r\n"}) {
    for (mode_t mode : {0600, 0400}) {
      const auto secret = Secret::FromFile(WriteFile("good", absl::StrCat(kText, end), mode));
      ASSERT_TRUE(secret.ok()) << secret.status();
      EXPECT_EQ(secret->bytes(), kText);
    }
  }
}

TEST(SecretTest, FromFile_OthersMayUseIt_PermissionDeniedThatSaysChmod) {
  for (mode_t mode : {0644, 0640, 0620, 0602, 0610, 0777}) {
    const absl::Status status = Secret::FromFile(WriteFile("open", kText, mode)).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("chmod 600"));
    EXPECT_FALSE(absl::StrContains(status.message(), "horse"));
  }
}

TEST(SecretTest, FromFile_Absent_NotFoundThatNamesIt) {
  const absl::Status status = Secret::FromFile("/nonexistent/secret").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/secret"));
}

TEST(SecretTest, FromFile_FolderOrPipe_ErrorAtOnce) {
  EXPECT_FALSE(Secret::FromFile("/").ok());
  const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(Secret::FromFile(path).status()));
}

TEST(SecretTest, FromFile_TooShortOrTooLong_InvalidArgument) {
  for (const std::string& content :
       {std::string(), std::string("\n"), std::string(15, 'x'), std::string(15, 'x') + "\n\n",
        std::string(Secret::kMaximumSize, 'x'), std::string(1 << 20, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Secret::FromFile(WriteFile("bad", content, 0600)).status()))
        << content.size();
  }
}

TEST(SecretTest, FromDescriptor_Pipe_ReadToItsEndAndClosed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], kText, sizeof kText - 1), static_cast<ssize_t>(sizeof kText - 1));
  close(ends[1]);
  const auto secret = Secret::FromDescriptor(ends[0]);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->bytes(), kText);
  EXPECT_EQ(fcntl(ends[0], F_GETFD), -1);
}

TEST(SecretTest, FromDescriptor_NotOpen_Error) { EXPECT_FALSE(Secret::FromDescriptor(999).ok()); }

TEST(SecretTest, FromDescriptor_NoSuchNumber_ReadsNoOther) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const int64_t number : {int64_t{-1}, (int64_t{1} << 32) + ends[0]}) {
    EXPECT_THAT(std::string(Secret::FromDescriptor(number).status().message()),
                testing::HasSubstr("no number of a descriptor"));
  }
  close(ends[0]);
  close(ends[1]);
}

// RFC 5869 with SHA-256, salt absent; computed with Python's hmac.
TEST(SecretTest, Derive_KnownSecret_HkdfSha256) {
  const Secret secret = Secret::FromBytes(kText).value();
  EXPECT_EQ(absl::BytesToHexString(secret.Derive("a purpose")->bytes()),
            "87773ff0eded54b10a09bbd854c133cfee99cdf01afa3efc51cc1a98a56b09c1");
  EXPECT_NE(secret.Derive("a purpose")->bytes(), secret.Derive("another")->bytes());
}

TEST(SecretTest, Random_Twice_Differs) {
  EXPECT_NE(Secret::Random()->bytes(), Secret::Random()->bytes());
}

// The flags of the mapping that holds an address, as /proc/self/smaps tells them.
std::string FlagsOf(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0;
    uintptr_t last = 0;
    char dash = 0;
    std::istringstream fields(line);
    if (fields >> std::hex >> first >> dash >> last && dash == '-') {
      inside = first <= wanted && wanted < last;
    } else if (inside && absl::StartsWith(line, "VmFlags:")) {
      return line;
    }
  }
  return "";
}

TEST(SecretTest, Pages_NotDumpedAndWipedInChildren) {
  const Secret secret = Secret::FromBytes(kText).value();
  const std::string flags = FlagsOf(secret.bytes().data());
  EXPECT_THAT(flags, HasSubstr(" dd"));  // MADV_DONTDUMP
  EXPECT_THAT(flags, HasSubstr(" wf"));  // MADV_WIPEONFORK
  const pid_t child = fork();
  if (child == 0) _exit(secret.bytes()[0] == '\0' ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace autobatch
