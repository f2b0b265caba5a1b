#include "autobatch/simcuda/shared_usage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "autobatch/simcuda/process.h"

namespace autobatch::simcuda {
namespace {

constexpr int kProcesses = 512;

// Held for a few memory accesses; the kernel lets go of a dead process's lock.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FileLock() {
    if (fd_ >= 0) flock(fd_, LOCK_UN);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int fd_;
};

}  // namespace

struct SharedUsage::Process {
  pid_t pid;
  uint64_t start_time;
  uint64_t bytes[kDevices];
};

struct SharedUsage::File {
  Process processes[kProcesses];
};

SharedUsage::SharedUsage(const std::string& path) : path_(path) { Join(); }

SharedUsage::~SharedUsage() { Leave(); }

void SharedUsage::Join() {
  pid_ = getpid();
  if (!path_.empty()) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ >= 0 && ftruncate(fd_, sizeof(File)) == 0) {
      void* map = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
      if (map != MAP_FAILED) file_ = static_cast<File*>(map);
    }
    if (file_ == nullptr) {
      std::fprintf(stderr, "simcuda: %s: %s; processes do not see each other's use\n",
                   path_.c_str(), std::strerror(errno));
    }
  }
  if (file_ != nullptr) {
    const FileLock lock(fd_);
    Clean();
    for (Process& process : file_->processes) {
      if (process.pid != 0) continue;
      process = {.pid = pid_, .start_time = StartTime(pid_), .bytes = {}};
      own_ = &process;
      return;
    }
    std::fprintf(stderr, "simcuda: more than %d processes on one node\n", kProcesses);
  }
  own_ = new Process{.pid = pid_, .start_time = 0, .bytes = {}};
}

void SharedUsage::Leave() {
  // After a fork the entry is the parent's.
  const bool is_own = pid_ == getpid();
  if (file_ != nullptr && own_ >= file_->processes && own_ < file_->processes + kProcesses) {
    if (is_own) *own_ = {};
  } else {
    delete own_;
  }
  own_ = nullptr;
  if (file_ != nullptr) munmap(file_, sizeof(File));
  file_ = nullptr;
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void SharedUsage::Rejoin() {
  if (pid_ == getpid()) return;
  Leave();
  Join();
}

void SharedUsage::Clean() {
  for (Process& process : file_->processes) {
    if (process.pid != 0 && StartTime(process.pid) != process.start_time) process = {};
  }
}

uint64_t SharedUsage::Sum(int device) const {
  if (file_ == nullptr) return own_->bytes[device];
  uint64_t sum = 0;
  for (const Process& process : file_->processes) sum += process.bytes[device];
  return sum;
}

bool SharedUsage::TryAdd(int device, uint64_t bytes, uint64_t limit) {
  const std::lock_guard guard(mutex_);
  Rejoin();
  const FileLock lock(fd_);
  if (Sum(device) + bytes > limit) {
    // Somebody may have died since.
    if (file_ != nullptr) Clean();
    if (Sum(device) + bytes > limit) return false;
  }
  own_->bytes[device] += bytes;
  return true;
}

void SharedUsage::Subtract(int device, uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  if (pid_ != getpid()) return;
  const FileLock lock(fd_);
  own_->bytes[device] -= std::min(bytes, own_->bytes[device]);
}

uint64_t SharedUsage::Total(int device) {
  const std::lock_guard guard(mutex_);
  Rejoin();
  const FileLock lock(fd_);
  if (file_ != nullptr) Clean();
  return Sum(device);
}

uint64_t SharedUsage::Own(int device) {
  const std::lock_guard guard(mutex_);
  return pid_ == getpid() ? own_->bytes[device] : 0;
}

std::vector<ProcessUse> SharedUsage::Processes(int device) {
  const std::lock_guard guard(mutex_);
  Rejoin();
  std::vector<ProcessUse> users;
  if (file_ == nullptr) {
    if (own_->bytes[device] > 0) users.push_back({.pid = pid_, .bytes = own_->bytes[device]});
    return users;
  }
  const FileLock lock(fd_);
  Clean();
  for (const Process& process : file_->processes) {
    if (process.bytes[device] > 0) {
      users.push_back({.pid = process.pid, .bytes = process.bytes[device]});
    }
  }
  return users;
}

}  // namespace autobatch::simcuda
