#ifndef AUTOBATCH_WORKER_MODELS_IMAGE_CLASSIFIER_H_
#define AUTOBATCH_WORKER_MODELS_IMAGE_CLASSIFIER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "autobatch/worker/workload.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace autobatch {

// A module from images to one logit a class, trained by cross entropy on random classes. `forward`
// is the module's.
std::unique_ptr<Workload> MakeImageClassifier(
    std::shared_ptr<torch::nn::Module> module,
    std::function<at::Tensor(const at::Tensor& images)> forward, int64_t image_size,
    int64_t classes);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_IMAGE_CLASSIFIER_H_
