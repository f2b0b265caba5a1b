#ifndef AUTOBATCH_WORKER_MODELS_YOLO_H_
#define AUTOBATCH_WORKER_MODELS_YOLO_H_

#include <cstdint>
#include <memory>

#include "autobatch/worker/workload.h"

namespace autobatch {

// A detector of the size and shape of YOLOv8n: a backbone of cross-stage blocks, a pyramid neck and
// one head for each of the strides 8, 16 and 32. Every image of its data has `max_objects` objects,
// and its loss assigns them to anchors in (images, objects, anchors) tables, so that crowded images
// cost what they cost in training. `image_size` is a multiple of 32.
std::unique_ptr<Workload> MakeYolo(int64_t image_size, int64_t classes, int64_t max_objects);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_YOLO_H_
