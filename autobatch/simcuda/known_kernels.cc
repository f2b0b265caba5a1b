#include "autobatch/simcuda/known_kernels.h"

#include <cstdint>
#include <vector>

namespace autobatch::simcuda {
namespace {

// Bytes of complex numbers in double precision.
constexpr uint64_t kLargestElement = 16;
// Start-up code compares a few.
constexpr uint64_t kMostCompared = 1024;

// at::native::OpType of CompareKernels.cu.
enum class Comparison : int { kGreaterOrEqual, kGreater, kLessOrEqual, kLess };

bool Compare(Comparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
    case Comparison::kGreaterOrEqual:
      return a >= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kLessOrEqual:
      return a <= b;
    case Comparison::kLess:
      return a < b;
  }
  return false;
}

std::vector<int64_t> ReadIntegers(Device& device, const char* address, uint64_t count) {
  std::vector<int64_t> integers(count);
  if (device.Owns(address)) {
    device.kept().Read(device.OffsetOf(address), integers.data(), count * sizeof(int64_t));
  }
  return integers;
}

}  // namespace

void RunOnKeptBytes(const std::string& name, void** arguments, Device& device) {
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  // The one for memory that is not aligned knows strides and conversions too.
  const bool is_plain =
      has("29vectorized_elementwise_kernel") ||
      (has("27unrolled_elementwise_kernelI") && !has("16OffsetCalculator") && !has("WithCast"));
  if (arguments == nullptr || !is_plain) return device.kept().Forget();
  // (int elements, functor, std::array<char*, n> of which the first is the result)
  const auto elements = static_cast<uint64_t>(*static_cast<const int*>(arguments[0]));
  const char* const* const data = static_cast<char* const*>(arguments[2]);
  if (!device.Owns(data[0])) return device.kept().Forget();
  const uint64_t result = device.OffsetOf(data[0]);
  // Of two tensors of int64_t; the array's length is of either type.
  const bool compares = has("CompareFunctorIlE") && (has("IPcLm3EE") || has("IPcLi3EE"));
  if (!compares || elements > kMostCompared) {
    const char zero = 0;
    return device.kept().Fill(result, &zero, sizeof(zero), elements * kLargestElement);
  }
  const std::vector<int64_t> a = ReadIntegers(device, data[1], elements);
  const std::vector<int64_t> b = ReadIntegers(device, data[2], elements);
  const auto comparison = *static_cast<const Comparison*>(arguments[1]);
  std::vector<uint8_t> results;
  for (uint64_t i = 0; i < elements; ++i)
    results.push_back(Compare(comparison, a[i], b[i]) ? 1 : 0);
  device.kept().Write(result, results.data(), results.size());
}

}  // namespace autobatch::simcuda
