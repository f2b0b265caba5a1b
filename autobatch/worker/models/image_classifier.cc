#include "autobatch/worker/models/image_classifier.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>

#include <utility>
#include <vector>

#include "autobatch/worker/models/module_workload.h"

namespace autobatch {
namespace {

class ImageClassifier final : public ModuleWorkload {
 public:
  ImageClassifier(std::shared_ptr<torch::nn::Module> module,
                  std::function<at::Tensor(const at::Tensor&)> forward, int64_t image_size,
                  int64_t classes)
      : ModuleWorkload(std::move(module)),
        forward_(std::move(forward)),
        image_size_(image_size),
        classes_(classes) {}

  Batch MakeBatch(int64_t samples, c10::Device device) override {
    const auto options = at::TensorOptions().dtype(at::kLong).device(device);
    return {{RandomImages(samples, image_size_, device)},
            {at::randint(classes_, {samples}, options)}};
  }

  std::vector<at::Tensor> Forward(const Batch& batch) override {
    return {forward_(batch.inputs[0])};
  }

  at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch& batch) override {
    return at::cross_entropy_loss(outputs[0], batch.targets[0]);
  }

 private:
  std::function<at::Tensor(const at::Tensor&)> forward_;
  int64_t image_size_;
  int64_t classes_;
};

}  // namespace

std::unique_ptr<Workload> MakeImageClassifier(
    std::shared_ptr<torch::nn::Module> module,
    std::function<at::Tensor(const at::Tensor& images)> forward, int64_t image_size,
    int64_t classes) {
  return std::make_unique<ImageClassifier>(std::move(module), std::move(forward), image_size,
                                           classes);
}

}  // namespace autobatch
