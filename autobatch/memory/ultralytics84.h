#ifndef AUTOBATCH_MEMORY_ULTRALYTICS84_H_
#define AUTOBATCH_MEMORY_ULTRALYTICS84_H_

#include <cstdint>
#include <optional>

#include "autobatch/memory/seed.h"

namespace autobatch {

// Arguments of Ultralytics 8.4.190's `autobatch`, with its defaults.
struct Ultralytics84Options {
  int64_t image_size = 640;
  // Of the available memory. Not checked, as there.
  double fraction = 0.6;
  // The answer on any error but "nothing fits", and where nothing is profiled.
  int64_t default_batch = kSeedDefaultBatch;
  // Objects an image that the loss is assumed to see.
  int64_t max_num_obj = 1;
  // Training images: larger batches are neither profiled nor answered; 0, unknown.
  int64_t dataset_size = 0;
  std::optional<bool> autocast;
};

// Ultralytics 8.4.190: a straight line through the memory of batches 1 to 16, or 64 from 16 GiB on,
// solved for a fraction of what this process can get (driver's free and its own reserved bytes),
// kept below the first failure above a success and within the smallest usable size and 1024. Kept
// as it is: the smallest usable size is answered even when the line says that it exceeds the
// fraction, and a line through a single point takes half of the point's memory as fixed.
SeedAnswer Ultralytics84AutoBatch(const Ultralytics84Options& options, const SeedReadings& readings,
                                  ProfileFunction profile);

// `check_train_batch_size`: `batch` between 0 and 1 is the fraction, any other stands for 0.6.
struct Ultralytics84CheckOptions {
  int64_t image_size = 640;
  bool amp = true;
  double batch = -1;
  int64_t max_num_obj = 1;
  int64_t dataset_size = 0;
};
SeedAnswer Ultralytics84CheckTrainBatchSize(const Ultralytics84CheckOptions& options,
                                            const SeedReadings& readings, ProfileFunction profile);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_ULTRALYTICS84_H_
