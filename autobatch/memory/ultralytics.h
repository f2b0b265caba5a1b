#ifndef AUTOBATCH_MEMORY_ULTRALYTICS_H_
#define AUTOBATCH_MEMORY_ULTRALYTICS_H_

#include <cstdint>
#include <optional>

#include "autobatch/memory/seed.h"

namespace autobatch {

// Arguments of Ultralytics 8.3.70's `autobatch`, with its defaults.
struct UltralyticsOptions {
  int64_t image_size = 640;
  // Of the free memory. Not checked, as there.
  double fraction = 0.6;
  // The answer on any error, when the estimate is outside 1..1024, and where nothing is profiled.
  int64_t default_batch = kSeedDefaultBatch;
  // Objects an image whose predictions the profiler simulates.
  int64_t max_num_obj = 1;
  std::optional<bool> autocast;
};

// Ultralytics 8.3.70: a power law (a line through the logarithms) through the memory of batches 1
// to 16, or 64 from 16 GiB on, solved for a fraction of what is free. Memory is a floor and a line,
// not a power law: on exactly affine memory the answer's own prediction is short of what that batch
// takes, and large extrapolations exceed the whole device. Kept as it is, as is the number of the
// device in the log, which is the first character of CUDA_VISIBLE_DEVICES.
SeedAnswer UltralyticsAutoBatch(const UltralyticsOptions& options, const SeedReadings& readings,
                                ProfileFunction profile);

// `check_train_batch_size`: `batch` between 0 and 1 is the fraction, any other stands for 0.6.
struct UltralyticsCheckOptions {
  int64_t image_size = 640;
  bool amp = true;
  double batch = -1;
  int64_t max_num_obj = 1;
};
SeedAnswer UltralyticsCheckTrainBatchSize(const UltralyticsCheckOptions& options,
                                          const SeedReadings& readings, ProfileFunction profile);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_ULTRALYTICS_H_
