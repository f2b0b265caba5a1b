#include "autobatch/simcuda/reduce_kernel.h"

#include <cstddef>
#include <utility>

namespace autobatch::simcuda {
namespace {

using Kind = IntegerReduction::Kind;

constexpr std::string_view kKernel =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIl";
constexpr std::pair<std::string_view, Kind> kFunctors[] = {
    {"ZNS0_11sum_functorIlllE", Kind::kSum},
    {"NS0_13MaxNanFunctorIlE", Kind::kMaximum},
};
// After the functor: 32-bit indices, and a result of the same type.
constexpr std::string_view kIndices = "EEjlLi";

constexpr int kMostDimensions = 25;

template <int kTensors>
struct Offsets {
  int dimensions;
  uint32_t sizes[kMostDimensions][3];
  uint32_t byte_strides[kMostDimensions][kTensors];
};

// at::native::ReduceOp of these functors, up to what is read here.
struct Reduction {
  int64_t functor;
  int64_t identity;
  int element_bytes;
  int inputs;
  int outputs;
  int more_configuration[13];
  Offsets<1> input;
  Offsets<2> output;
  const char* from;
  char* to;
};
static_assert(offsetof(Reduction, input) == 80);
static_assert(offsetof(Reduction, from) == 992);

std::optional<Kind> KindOf(std::string_view kernel) {
  if (!kernel.starts_with(kKernel)) return std::nullopt;
  const std::string_view rest = kernel.substr(kKernel.size());
  for (const auto& [functor, kind] : kFunctors) {
    if (!rest.starts_with(functor)) continue;
    if (rest.find(kIndices) != std::string_view::npos) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::optional<IntegerReduction> ReadReduction(std::string_view kernel, void** arguments) {
  const std::optional<Kind> kind = KindOf(kernel);
  if (!kind) return std::nullopt;
  const auto& reduction = *static_cast<const Reduction*>(arguments[0]);
  const bool is_contiguous =
      reduction.inputs == 1 ||
      (reduction.input.dimensions == 1 && reduction.input.byte_strides[0][0] == sizeof(int64_t));
  if (reduction.element_bytes != sizeof(int64_t) || reduction.inputs < 1 ||
      reduction.outputs != 1 || !is_contiguous) {
    return std::nullopt;
  }
  return IntegerReduction{.kind = *kind,
                          .from = reduction.from,
                          .to = reduction.to,
                          .count = static_cast<uint64_t>(reduction.inputs)};
}

}  // namespace autobatch::simcuda
