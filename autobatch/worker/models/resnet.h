#ifndef AUTOBATCH_WORKER_MODELS_RESNET_H_
#define AUTOBATCH_WORKER_MODELS_RESNET_H_

#include <cstdint>
#include <memory>

#include "autobatch/worker/workload.h"

namespace autobatch {

// ResNets for images of `image_size` pixels a side (He et al. 2015, "Deep Residual Learning for
// Image Recognition"), with the operations, in-place ones included, of the common implementations,
// so that memory behaves like theirs: the stride of a bottleneck is in its 3x3 convolution.
std::unique_ptr<Workload> MakeResNet18(int64_t image_size, int64_t classes);
std::unique_ptr<Workload> MakeResNet50(int64_t image_size, int64_t classes);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_RESNET_H_
