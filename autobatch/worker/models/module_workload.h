#ifndef AUTOBATCH_WORKER_MODELS_MODULE_WORKLOAD_H_
#define AUTOBATCH_WORKER_MODELS_MODULE_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "autobatch/worker/workload.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace autobatch {

// The part of a workload that every model of our own shares: its module's device, mode and
// parameters. Data, forward pass and loss are the model's.
class ModuleWorkload : public Workload {
 public:
  explicit ModuleWorkload(std::shared_ptr<torch::nn::Module> module);

  void To(c10::Device device, bool channels_last) override;
  void Train(bool training) override;
  std::vector<at::Tensor> Parameters() override;

 protected:
  // (samples, 3, size, size), standard normal, in the memory format that To chose.
  at::Tensor RandomImages(int64_t samples, int64_t size, c10::Device device) const;

 private:
  std::shared_ptr<torch::nn::Module> module_;
  bool channels_last_ = false;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_MODULE_WORKLOAD_H_
