#include "autobatch/memory/profile_units.h"

#include "autobatch/base/units.h"

namespace autobatch {
namespace {

constexpr double kBillion = 1e9;
constexpr double kFloatsPerCell = 6;
constexpr double kBytesPerFloat = 4;

}  // namespace

double Yolov5ProfiledMemory(int64_t reserved_after_steps_bytes) {
  return static_cast<double>(reserved_after_steps_bytes) / kBillion;
}

double UltralyticsProfiledMemory(std::span<const UltralyticsReading> repetitions) {
  double memory = 0;
  for (const UltralyticsReading& reading : repetitions) {
    memory += static_cast<double>(reading.after_step_bytes) / kBillion;
    if (reading.after_predictions_bytes.has_value()) {
      memory += static_cast<double>(*reading.after_predictions_bytes) / kBillion;
    }
  }
  return memory;
}

double Ultralytics84ProfiledMemory(int64_t reserved_after_step_bytes, const LossShape& loss) {
  double memory = static_cast<double>(reserved_after_step_bytes) / static_cast<double>(kGiB);
  if (loss.max_num_obj != 0) {
    memory += static_cast<double>(loss.batch) * static_cast<double>(loss.anchors) * kFloatsPerCell *
              static_cast<double>(loss.max_num_obj + 2 * loss.classes) * kBytesPerFloat /
              static_cast<double>(kGiB);
  }
  return memory;
}

int64_t Anchors(int64_t image_size, std::span<const double> strides) {
  double cells = 0;
  for (const double stride : strides) {
    const double side = static_cast<double>(image_size) / stride;
    cells += side * side;
  }
  return static_cast<int64_t>(cells);
}

}  // namespace autobatch
