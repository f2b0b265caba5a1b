#ifndef AUTOBATCH_WORKER_MODELS_VIT_H_
#define AUTOBATCH_WORKER_MODELS_VIT_H_

#include <cstdint>
#include <memory>

#include "autobatch/worker/workload.h"

namespace autobatch {

// The vision transformer ViT-B/16 (Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words"):
// 12 layers, 768 wide, 12 heads. `image_size` is a multiple of 16.
std::unique_ptr<Workload> MakeVitB16(int64_t image_size, int64_t classes);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_VIT_H_
