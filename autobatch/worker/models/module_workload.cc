#include "autobatch/worker/models/module_workload.h"

#include <torch/nn/module.h>

#include <utility>

#include "autobatch/worker/models/channels_last.h"

namespace autobatch {

ModuleWorkload::ModuleWorkload(std::shared_ptr<torch::nn::Module> module)
    : module_(std::move(module)) {}

void ModuleWorkload::To(c10::Device device, bool channels_last) {
  module_->to(device);
  channels_last_ = channels_last;
  if (channels_last) ToChannelsLast(module_->parameters());
}

void ModuleWorkload::Train(bool training) { module_->train(training); }

std::vector<at::Tensor> ModuleWorkload::Parameters() { return module_->parameters(); }

at::Tensor ModuleWorkload::RandomImages(int64_t samples, int64_t size, c10::Device device) const {
  return RandomNormal({samples, 3, size, size}, at::kFloat, device, channels_last_);
}

}  // namespace autobatch
