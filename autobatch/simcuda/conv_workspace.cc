#include "autobatch/simcuda/conv_workspace.h"

#include <algorithm>

namespace autobatch::simcuda {
namespace {

double Elements(const std::vector<int64_t>& dimensions) {
  double count = 1;
  for (const int64_t dimension : dimensions) count *= static_cast<double>(dimension);
  return count;
}

bool IsGrouped(const Convolution& c) { return c.x[1] != c.w[1]; }

bool IsDepthwise(const Convolution& c) { return IsGrouped(c) && c.w[1] == 1; }

bool IsPointwise(const Convolution& c) {
  return std::all_of(c.w.begin() + 2, c.w.end(), [](int64_t size) { return size == 1; });
}

double ByPass(ConvPass pass, double forward, double data, double filter) {
  switch (pass) {
    case ConvPass::kForward:
      return forward;
    case ConvPass::kBackwardData:
      return data;
    case ConvPass::kBackwardFilter:
      return filter;
  }
  return 0;
}

}  // namespace

uint64_t ConvWorkspaceModel::Workspace(const Convolution& c) const {
  if (c.x.size() < 3 || c.w.size() < 3 || c.channels_last) return 0;
  if (IsDepthwise(c) || IsPointwise(c)) return 0;
  double copies = 0;
  double element = 0;
  if (c.type == ConvType::kFloat32 && !IsGrouped(c)) {
    element = 4;
    copies = ByPass(c.pass, float32_forward, float32_backward_data, float32_backward_filter);
  } else if (c.type == ConvType::kHalf && c.compute_capability >= half_least_capability) {
    element = 2;
    copies = ByPass(c.pass, half_forward, half_backward_data, half_backward_filter);
  }
  return static_cast<uint64_t>(copies * element * (Elements(c.x) + Elements(c.w) + Elements(c.y)));
}

}  // namespace autobatch::simcuda
