#include "autobatch/worker/models/channels_last.h"

#include <ATen/ops/empty.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/TensorOptions.h>

namespace autobatch {

void ToChannelsLast(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() != 4) continue;
    tensor.set_data(tensor.detach().contiguous(at::MemoryFormat::ChannelsLast));
  }
}

at::Tensor RandomNormal(at::IntArrayRef shape, at::ScalarType dtype, c10::Device device,
                        bool channels_last) {
  const auto format = channels_last && shape.size() == 4 ? at::MemoryFormat::ChannelsLast
                                                         : at::MemoryFormat::Contiguous;
  return at::empty(shape, at::TensorOptions().dtype(dtype).device(device), format).normal_();
}

}  // namespace autobatch
