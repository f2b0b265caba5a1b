#ifndef AUTOBATCH_SIMCUDA_SHARED_USAGE_H_
#define AUTOBATCH_SIMCUDA_SHARED_USAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace autobatch::simcuda {

struct ProcessUse {
  pid_t pid = 0;
  uint64_t bytes = 0;
};

// How much of each simulated device the processes of one node hold, in a file that they all map. A
// process that died holds nothing, however it died: its pid and start time tell. Thread-safe.
class SharedUsage {
 public:
  static constexpr int kDevices = 256;

  // With an empty path, or one that cannot be used, the process sees itself only.
  explicit SharedUsage(const std::string& path);
  ~SharedUsage();

  SharedUsage(const SharedUsage&) = delete;
  SharedUsage& operator=(const SharedUsage&) = delete;

  // Makes this process hold `bytes` more of the device if all processes together then hold at most
  // `limit`; one step for all of them. Returns whether it did.
  bool TryAdd(int device, uint64_t bytes, uint64_t limit);
  void Subtract(int device, uint64_t bytes);

  // By all processes, and by this one.
  uint64_t Total(int device);
  uint64_t Own(int device);
  std::vector<ProcessUse> Processes(int device);

 private:
  struct Process;
  struct File;

  void Join();
  void Leave();
  // A forked child is a process of its own, with a lock of its own.
  void Rejoin();
  void Clean();
  uint64_t Sum(int device) const;

  std::mutex mutex_;
  const std::string path_;
  int fd_ = -1;
  pid_t pid_ = 0;
  File* file_ = nullptr;
  // This process's entry: in the file, or private_.
  Process* own_ = nullptr;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_SHARED_USAGE_H_
