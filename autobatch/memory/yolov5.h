#ifndef AUTOBATCH_MEMORY_YOLOV5_H_
#define AUTOBATCH_MEMORY_YOLOV5_H_

#include <cstdint>
#include <optional>

#include "autobatch/memory/seed.h"

namespace autobatch {

// Arguments of YOLOv5 7.0's `autobatch`, with its defaults.
struct Yolov5Options {
  int64_t image_size = 640;
  // Of the free memory. Not checked, as there.
  double fraction = 0.8;
  // The answer when the estimate is outside 1..1024, on a CPU, and with cudnn.benchmark.
  int64_t default_batch = kSeedDefaultBatch;
  std::optional<bool> autocast;
};

// YOLOv5 7.0: a straight line through the memory of batches 1 to 16, solved for a fraction of what
// is free. Kept as it is: free memory subtracts both reserved and allocated bytes, although the
// first contain the second; sizes that ran are matched to the smallest batches even when a smaller
// one failed; a falling line is answered with the default batch.
SeedAnswer Yolov5AutoBatch(const Yolov5Options& options, const SeedReadings& readings,
                           ProfileFunction profile);

// `check_train_batch_size`: the above with defaults, under autocast or not.
SeedAnswer Yolov5CheckTrainBatchSize(int64_t image_size, bool amp, const SeedReadings& readings,
                                     ProfileFunction profile);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_YOLOV5_H_
