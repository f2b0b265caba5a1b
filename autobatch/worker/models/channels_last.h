#ifndef AUTOBATCH_WORKER_MODELS_CHANNELS_LAST_H_
#define AUTOBATCH_WORKER_MODELS_CHANNELS_LAST_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <vector>

namespace autobatch {

// Gives every 4-dimensional tensor the channels-last memory format, in place.
void ToChannelsLast(const std::vector<at::Tensor>& tensors);

// Standard normal values of a floating-point type. A 4-dimensional tensor is born in the
// channels-last format if asked: a conversion afterwards would hold it twice, and show in the peak.
at::Tensor RandomNormal(at::IntArrayRef shape, at::ScalarType dtype, c10::Device device,
                        bool channels_last);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_CHANNELS_LAST_H_
