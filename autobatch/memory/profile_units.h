#ifndef AUTOBATCH_MEMORY_PROFILE_UNITS_H_
#define AUTOBATCH_MEMORY_PROFILE_UNITS_H_

#include <cstdint>
#include <optional>
#include <span>

namespace autobatch {

// What each package's profiler hands to its fit as "the memory" of one size that ran. Two of them
// count in units of 10^9 bytes what the fit compares with GiB, a mistake of 7 % that is kept.

// YOLOv5 7.0: what the allocator holds after the last repetition.
double Yolov5ProfiledMemory(int64_t reserved_after_steps_bytes);

// One repetition of Ultralytics 8.3.70: the allocator's reserved bytes after the step, and after
// the simulated predictions, absent where there were none. The cache is emptied before each of
// them.
struct UltralyticsReading {
  int64_t after_step_bytes = 0;
  std::optional<int64_t> after_predictions_bytes;
};

// Ultralytics 8.3.70: the sum of all readings, of all repetitions too.
double UltralyticsProfiledMemory(std::span<const UltralyticsReading> repetitions);

// What 8.4.190 assumes about a detector's loss instead of running one.
struct LossShape {
  int64_t batch = 1;
  // Grid cells over all strides: the sum of (height / stride) * (width / stride), rounded down.
  int64_t anchors = 0;
  // 0: no loss is assumed.
  int64_t max_num_obj = 0;
  int64_t classes = 0;
};

// Ultralytics 8.4.190, in GiB: the reserved bytes after the last repetition, and six floats for
// each anchor and each object, and twice for each class.
double Ultralytics84ProfiledMemory(int64_t reserved_after_step_bytes, const LossShape& loss);

// Anchors of a square image of `image_size` pixels for a detector with these strides.
int64_t Anchors(int64_t image_size, std::span<const double> strides);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_PROFILE_UNITS_H_
