#ifndef AUTOBATCH_MEMORY_SEED_H_
#define AUTOBATCH_MEMORY_SEED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// What the seed estimators (yolov5, ultralytics, ultralytics84) share: they ask a profiler for the
// memory of a few batches, fit a line, and extrapolate. They answer and log as the packages do,
// their mistakes included; what they answer is an estimate that nothing has run.
namespace autobatch {

enum class LogLevel { kInfo, kWarning };

// One line of a package's log, without colour codes.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

// What the packages read from torch, the allocator and the driver before they profile.
struct SeedReadings {
  // torch's name of the device that holds the model: "cuda:0", "cpu", "mps".
  std::string device = "cuda:0";
  // Model of the device: "NVIDIA A100-SXM4-40GB".
  std::string name;
  int64_t total_bytes = 0;
  // By this process's allocator.
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;
  // By the driver, for everyone; absent where it cannot tell. Only 8.4 asks.
  std::optional<int64_t> free_bytes;
  // torch.backends.cudnn.benchmark: the packages refuse to profile with it.
  bool cudnn_benchmark = false;
  // As it is; absent, unset. Only 8.3 reads it, for its log lines.
  std::optional<std::string> cuda_visible_devices;
};

// What a package asks of its profiler.
struct ProfileRequest {
  // Run these one after the other, however the smaller ones end.
  std::vector<int64_t> batch_sizes;
  // Steps of each.
  int64_t repetitions = 1;
  // Pixels a side.
  int64_t image_size = 640;
  // Objects an image, whose predictions are simulated after each step; 0, none are.
  int64_t max_num_obj = 0;
  // Mixed precision on or off; absent, as the caller has it.
  std::optional<bool> autocast;
};

// What the profiler found.
struct Profile {
  // Not OK: the profiler as a whole raised, with this message, and `memory` does not count.
  absl::Status status;
  // For each batch size the package's own number (see profile_units.h); absent, that size failed.
  std::vector<std::optional<double>> memory;
  // Its own lines, which stand between the package's (see profile_table.h).
  std::vector<LogLine> log;
};

using ProfileFunction = absl::FunctionRef<Profile(const ProfileRequest&)>;

// A package's answer. Where the package raises, `batch` is an error:
//   InvalidArgument     the profiler answered for other sizes than it was asked, no size ran
//                       (YOLOv5), or an empty CUDA_VISIBLE_DEVICES (8.3)
//   OutOfRange          the estimate is infinite or NaN (YOLOv5)
//   Aborted             the profiler raised (YOLOv5)
//   ResourceExhausted   no usable size (8.4)
struct SeedAnswer {
  absl::StatusOr<int64_t> batch = absl::UnknownError("not computed");
  std::vector<LogLine> log;
};

// A fit cannot be asked for a batch above this, in any of the packages.
inline constexpr int64_t kSeedMaxBatch = 1024;

// The batch that all packages fall back to by default.
inline constexpr int64_t kSeedDefaultBatch = 16;

// Bytes in GiB, as the packages count the device's memory.
double Gib(int64_t bytes);

// "cuda" of "cuda:0".
absl::string_view DeviceType(absl::string_view device);

// What YOLOv5 and 8.3 take for free: both reserved and allocated bytes are subtracted, although the
// first contain the second.
double FreeGib(const SeedReadings& readings);

// Sizes that 8.3 and 8.4 profile on a device of `total_gib`.
std::vector<int64_t> UltralyticsBatchSizes(double total_gib);

// 8.3's and 8.4's reading of the `batch` argument: a fraction of the memory, or else the default
// 0.6.
double FractionOfBatchArgument(double batch);

// The points that 8.3 and 8.4 fit: sizes that ran, with memory above 0 and below the total, and
// above the size before it if that one ran.
struct UsablePoints {
  std::vector<double> batch;
  std::vector<double> memory;
};
UsablePoints SelectUsable(const std::vector<int64_t>& batch_sizes,
                          const std::vector<std::optional<double>>& memory, double total_gib);

// YOLOv5 and 8.3: a batch that is no smaller than the first size that failed gives way to the size
// before that.
double BelowFirstFailure(double batch, const std::vector<int64_t>& batch_sizes,
                         const std::vector<std::optional<double>>& memory);

// Calls the profiler; its lines follow those of the answer.
Profile RunProfiler(ProfileFunction profile, const ProfileRequest& request, SeedAnswer& answer);

// InvalidArgument unless the profiler answered for every size; its own status if it raised.
absl::Status CheckProfile(const ProfileRequest& request, const Profile& profile);

// Adds "AutoBatch: <text>".
void LogTo(SeedAnswer& answer, LogLevel level, absl::string_view text);

// The answer where nothing is estimated: `batch`, which also ends the line that says why.
SeedAnswer AnswerDefault(SeedAnswer answer, LogLevel level, absl::string_view why, int64_t batch);

// YOLOv5's and 8.3's line of what is there: total, reserved, allocated, free.
std::string MemoryLine(absl::string_view device, const SeedReadings& readings);

// The closing line of all three; `share` is the predicted fraction of the total.
std::string UsingLine(int64_t batch, absl::string_view device, double total_gib, double share);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_SEED_H_
