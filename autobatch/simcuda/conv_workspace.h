#ifndef AUTOBATCH_SIMCUDA_CONV_WORKSPACE_H_
#define AUTOBATCH_SIMCUDA_CONV_WORKSPACE_H_

#include <cstdint>
#include <vector>

namespace autobatch::simcuda {

enum class ConvPass { kForward, kBackwardData, kBackwardFilter };

enum class ConvType { kFloat64, kFloat32, kHalf, kOther };

// A convolution as cuDNN is asked for it. Dimensions: batch, channels, space.
struct Convolution {
  ConvPass pass = ConvPass::kForward;
  ConvType type = ConvType::kFloat32;
  bool channels_last = false;
  // 89 is sm_89.
  int compute_capability = 80;
  std::vector<int64_t> x;
  std::vector<int64_t> w;
  std::vector<int64_t> y;
};

// Workspace of the engine that cuDNN's heuristic names first, in copies of the bytes of x, w and y.
// An engine that needs none always stands behind it, so that memory running short costs time only.
struct ConvWorkspaceModel {
  // NCHW, a kernel larger than 1x1. Gradients in fp32 of one group copy their tensors once: found
  // on the measured peaks of 2024 and holding on models it was not made from (median error 7.7
  // -> 4.2
  // %).
  double float32_forward = 0;
  double float32_backward_data = 1;
  double float32_backward_filter = 1;
  // Tensor cores want NHWC: NCHW tensors are converted in the workspace, in every pass and of any
  // number of groups; depthwise kernels do without tensor cores. It mends 7 of 26 rungs of the timm
  // ladder, one more with groups, and breaks none; with 1x1 kernels included it becomes worse.
  double half_forward = 1;
  double half_backward_data = 1;
  double half_backward_filter = 1;
  // The least architecture that the half figures are of: the first with tensor cores.
  double half_least_capability = 70;

  // In bytes.
  uint64_t Workspace(const Convolution& convolution) const;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CONV_WORKSPACE_H_
