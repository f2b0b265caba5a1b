#include "autobatch/trial/test_support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

std::vector<std::string> OpenDescriptors() {
  std::vector<std::string> open;
  for (int fd = 0; fd < 1024; ++fd) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd), error);
    if (!error) open.push_back(absl::StrCat(fd, " -> ", target.string()));
  }
  return open;
}

}  // namespace

void NothingLeftTest::SetUp() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  open_before_ = OpenDescriptors();
}

void NothingLeftTest::TearDown() {
  EXPECT_EQ(OpenDescriptors(), open_before_);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  EXPECT_EQ(errno, ECHILD);
}

Fifo::Fifo() {
  std::string directory = absl::StrCat(::testing::TempDir(), "/fifo.XXXXXX");
  EXPECT_NE(mkdtemp(directory.data()), nullptr);
  path_ = directory + "/fifo";
  EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  fd_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

Fifo::~Fifo() {
  close(fd_);
  std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
}

std::vector<int> Fifo::ReadPids(size_t count) {
  while (static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n')) < count) {
    pollfd poll_fd = {fd_, POLLIN, 0};
    poll(&poll_fd, 1, -1);
    char bytes[256];
    const ssize_t got = read(fd_, bytes, sizeof(bytes));
    if (got > 0) text_.append(bytes, static_cast<size_t>(got));
  }
  std::vector<int> pids;
  for (const absl::string_view line : absl::StrSplit(text_, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::SimpleAtoi(line, &pids.emplace_back()));
  }
  return pids;
}

void Fifo::WaitUntilReleased() {
  while (true) {
    pollfd poll_fd = {fd_, POLLIN, 0};
    poll(&poll_fd, 1, -1);
    char bytes[256];
    if (read(fd_, bytes, sizeof(bytes)) == 0) return;
  }
}

}  // namespace autobatch
