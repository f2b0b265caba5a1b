#include "autobatch/simcuda/fill_kernel.h"

#include <utility>

namespace autobatch::simcuda {
namespace {

constexpr std::string_view kKernel = "_ZN2at6native29vectorized_elementwise_kernelILi";
constexpr std::string_view kFunctor = "NS0_11FillFunctorI";
// The value's mangled type, and how its list of template arguments ends.
constexpr std::pair<std::string_view, size_t> kTypes[] = {
    {"bE", 1}, {"aE", 1}, {"hE", 1}, {"sE", 2}, {"N3c104HalfEE", 2}, {"N3c108BFloat16EE", 2},
    {"iE", 4}, {"fE", 4}, {"lE", 8}, {"dE", 8},
};
// One address, and the parameters (int, functor, addresses).
constexpr std::string_view kOneAddress = "IPcLm1EE";
constexpr std::string_view kOneAddressOldArray = "IPcLi1EE";
constexpr std::string_view kParameters = "EEviT0_T1_";

}  // namespace

size_t FillElementBytes(std::string_view kernel) {
  if (!kernel.starts_with(kKernel) || !kernel.ends_with(kParameters)) return 0;
  const size_t functor = kernel.find(kFunctor);
  if (functor == std::string_view::npos) return 0;
  const std::string_view rest = kernel.substr(functor + kFunctor.size());
  if (rest.find(kOneAddress) == std::string_view::npos &&
      rest.find(kOneAddressOldArray) == std::string_view::npos) {
    return 0;
  }
  for (const auto& [type, bytes] : kTypes) {
    if (rest.starts_with(type)) return bytes;
  }
  return 0;
}

Fill ReadFillArguments(void** arguments) {
  const int count = *static_cast<const int*>(arguments[0]);
  return {.address = *static_cast<void* const*>(arguments[2]),
          .count = count < 0 ? 0 : static_cast<uint64_t>(count),
          .element = arguments[1]};
}

}  // namespace autobatch::simcuda
