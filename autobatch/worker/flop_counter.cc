#include "autobatch/worker/flop_counter.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace autobatch {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

// Of the counter that lives in this thread. Kernels of one counted operator may call another
// counted one (autocast calls itself again, some convolutions are matrix products): only the
// outermost counts.
thread_local double total = 0;
thread_local int depth = 0;

double Size(const at::Tensor& tensor, int64_t dimension) {
  return static_cast<double>(tensor.size(dimension));
}
double Elements(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

// The tensor arguments; nothing is counted where one of them is missing.
std::optional<std::array<at::Tensor, 3>> Tensors(Inputs inputs, std::size_t first,
                                                 std::size_t count) {
  std::array<at::Tensor, 3> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    if (first + i >= inputs.size() || !inputs[first + i].isTensor()) return std::nullopt;
    tensors[i] = inputs[first + i].toTensor();
    if (!tensors[i].defined()) return std::nullopt;
  }
  return tensors;
}

// Each output element is one dot product over the rows of the second matrix.
double Product(Inputs inputs, std::size_t first) {
  const auto tensors = Tensors(inputs, first, 2);
  if (!tensors.has_value() || (*tensors)[1].dim() == 0) return 0;
  const at::Tensor& right = (*tensors)[1];
  const double columns = right.dim() == 1 ? 1 : Size(right, right.dim() - 1);
  return 2 * Elements((*tensors)[0]) * columns;
}

// input (n, c_in, ...), weight (c_out, c_in / groups, kernel...), or (c_in, c_out / groups,
// kernel...) when transposed: every element of the spatial side that the kernel visits costs one
// weight slice.
double Convolution(Inputs inputs) {
  const auto tensors = Tensors(inputs, 0, 2);
  if (!tensors.has_value() || inputs.size() < 7) return 0;
  const at::Tensor& input = (*tensors)[0];
  const at::Tensor& weight = (*tensors)[1];
  const int64_t spatial = weight.dim() - 2;
  if (spatial < 1 || input.dim() < spatial + 1 || !inputs[6].isBool()) return 0;
  const std::vector<int64_t> stride = inputs[3].toIntVector();
  const std::vector<int64_t> padding = inputs[4].toIntVector();
  const std::vector<int64_t> dilation = inputs[5].toIntVector();
  double positions = input.dim() == weight.dim() ? Size(input, 0) : 1;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t length = input.size(input.dim() - spatial + i);
    if (inputs[6].toBool()) {  // transposed
      positions *= static_cast<double>(length);
      continue;
    }
    const auto at = [&](const std::vector<int64_t>& values) {
      return values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    };
    const int64_t extent = at(dilation) * (weight.size(2 + i) - 1) + 1;
    positions *= static_cast<double>((length + 2 * at(padding) - extent) / at(stride) + 1);
  }
  return 2 * positions * Elements(weight);
}

// query (b, h, l, e), key (b, h, s, e), value (b, h, s, v): two products.
double Attention(Inputs inputs) {
  const auto tensors = Tensors(inputs, 0, 3);
  if (!tensors.has_value() || (*tensors)[0].dim() != 4) return 0;
  const auto& [query, key, value] = *tensors;
  return 2 * Elements(query) * Size(key, 2) +
         2 * Size(query, 0) * Size(query, 1) * Size(query, 2) * Size(key, 2) * Size(value, 3);
}

std::optional<double> Count(std::string_view name, Inputs inputs) {
  static const std::unordered_set<std::string_view> products = {"aten::mm", "aten::bmm", "aten::mv",
                                                                "aten::dot"};
  static const std::unordered_set<std::string_view> sums = {
      "aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv", "aten::_addmm_activation"};
  static const std::unordered_set<std::string_view> attentions = {
      "aten::_scaled_dot_product_flash_attention",
      "aten::_scaled_dot_product_flash_attention_for_cpu",
      "aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_cudnn_attention",
      "aten::_scaled_dot_product_fused_attention_overrideable"};
  if (name == "aten::_convolution") return Convolution(inputs);
  if (products.contains(name)) return Product(inputs, 0);
  if (sums.contains(name)) return Product(inputs, 1);
  if (attentions.contains(name)) return Attention(inputs);
  return std::nullopt;
}

struct Counted final : at::ObserverContext {};

std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function) {
  const std::optional<double> flops = Count(function.name(), function.inputs());
  if (!flops.has_value()) return nullptr;
  if (depth++ == 0) total += *flops;
  return std::make_unique<Counted>();
}

void OnEnd(const at::RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr) --depth;
}

}  // namespace

FlopCounter::FlopCounter()
    : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&OnStart, &OnEnd)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}))) {
  total = 0;
  depth = 0;
}

FlopCounter::~FlopCounter() { at::removeCallback(handle_); }

double FlopCounter::flops() const { return total; }

}  // namespace autobatch
