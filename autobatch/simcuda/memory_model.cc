#include "autobatch/simcuda/memory_model.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

constexpr double kLargestPart = 1e15;

std::vector<std::pair<std::string, double*>> Parts(MemoryModel& model) {
  ConvWorkspaceModel& conv = model.convolution;
  return {
      {"context_base", &model.context_base},
      {"context_per_multiprocessor", &model.context_per_multiprocessor},
      {"eager_kernels", &model.eager_kernels},
      {"eager_context", &model.eager_context},
      {"lazy_since_version", &model.lazy_since_version},
      {"lazy_kernel", &model.lazy_kernel},
      {"cublas_handle", &model.cublas_handle},
      {"cudnn_handle", &model.cudnn_handle},
      {"nccl_base", &model.nccl_base},
      {"nccl_per_peer", &model.nccl_per_peer},
      {"convolution.float32_forward", &conv.float32_forward},
      {"convolution.float32_backward_data", &conv.float32_backward_data},
      {"convolution.float32_backward_filter", &conv.float32_backward_filter},
      {"convolution.half_forward", &conv.half_forward},
      {"convolution.half_backward_data", &conv.half_backward_data},
      {"convolution.half_backward_filter", &conv.half_backward_filter},
      {"convolution.half_least_capability", &conv.half_least_capability},
  };
}

// The error, or "".
std::string SetPart(MemoryModel& model, std::string_view line) {
  const size_t equals = line.find('=');
  const std::string name(Trim(line.substr(0, equals)));
  if (equals == std::string_view::npos) return "'" + name + "' is no line `part = number`";
  const std::string_view text = Trim(line.substr(equals + 1));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) ||
      value > kLargestPart) {
    return "'" + std::string(text) + "' is no value of " + name;
  }
  std::vector<std::string> names;
  for (const auto& [part, number] : Parts(model)) {
    if (part == name) {
      *number = value;
      return "";
    }
    names.push_back(part);
  }
  return "unknown part '" + name + "'; the nearest is '" + NearestName(name, names) + "'";
}

}  // namespace

uint64_t MemoryModel::Context(const Card& card, int driver_version) const {
  double bytes = context_base + context_per_multiprocessor * card.multiprocessors;
  if (card.context) bytes = static_cast<double>(*card.context);
  if (driver_version < lazy_since_version) bytes += eager_context + eager_kernels;
  return static_cast<uint64_t>(bytes);
}

uint64_t MemoryModel::Kernel(int driver_version) const {
  return driver_version < lazy_since_version ? 0 : static_cast<uint64_t>(lazy_kernel);
}

uint64_t MemoryModel::Communicator(int ranks) const {
  return static_cast<uint64_t>(nccl_base + nccl_per_peer * std::max(0, ranks - 1));
}

CalibratedModel Calibrate(std::string_view calibration) {
  CalibratedModel result;
  for (std::string_view line : Split(calibration, '\n')) {
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    result.error = SetPart(result.model, line);
    if (!result.error.empty()) return result;
  }
  return result;
}

}  // namespace autobatch::simcuda
