#include "autobatch/simcuda/known_kernels.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "autobatch/simcuda/cat_kernel.h"
#include "autobatch/simcuda/kept_bytes.h"
#include "autobatch/simcuda/reduce_kernel.h"

namespace autobatch::simcuda {
namespace {

// Bytes of complex numbers in double precision.
constexpr uint64_t kLargestElement = 16;
// Start-up code compares and adds a few.
constexpr uint64_t kMostIntegers = 1024;

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

// Numbers that mean something else than sizes may be large: it wraps, as on the device.
int64_t Sum(int64_t a, int64_t b, int64_t alpha = 1) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(alpha) * static_cast<uint64_t>(b));
}

std::vector<int64_t> ReadIntegers(Device& device, const char* address, uint64_t count) {
  std::vector<int64_t> integers(count);
  if (device.Owns(address)) {
    device.kept().Read(device.OffsetOf(address), integers.data(), count * sizeof(int64_t));
  }
  return integers;
}

template <typename T>
void WriteResult(const std::vector<T>& values, uint64_t offset, Device& device) {
  device.kept().Write(offset, values.data(), values.size() * sizeof(T));
}

void Join(const std::vector<CatPiece>& pieces, Device& device) {
  uint64_t bytes = 0;
  for (const CatPiece& piece : pieces) {
    if (!device.Owns(piece.from) || !device.Owns(piece.to)) return device.kept().Forget();
    bytes += piece.bytes;
  }
  if (bytes > KeptBytes::kMost) return device.kept().Forget();
  for (const CatPiece& piece : pieces) {
    std::vector<char> passing(piece.bytes);
    device.kept().Read(device.OffsetOf(piece.from), passing.data(), passing.size());
    WriteResult(passing, device.OffsetOf(piece.to), device);
  }
}

void Reduce(const IntegerReduction& reduction, Device& device) {
  if (!device.Owns(reduction.from) || !device.Owns(reduction.to) ||
      reduction.count > kMostIntegers) {
    return device.kept().Forget();
  }
  const std::vector<int64_t> integers = ReadIntegers(device, reduction.from, reduction.count);
  int64_t result = 0;
  switch (reduction.kind) {
    case IntegerReduction::Kind::kSum:
      for (const int64_t integer : integers) result = Sum(result, integer);
      break;
    case IntegerReduction::Kind::kMaximum:
      result = *std::max_element(integers.begin(), integers.end());
      break;
  }
  WriteResult<int64_t>({result}, device.OffsetOf(reduction.to), device);
}

bool Has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

bool IsElementwise(const std::string& name) {
  // The one for memory that is not aligned knows strides and conversions too.
  return Has(name, "29vectorized_elementwise_kernel") ||
         (Has(name, "27unrolled_elementwise_kernelI") && !Has(name, "16OffsetCalculator") &&
          !Has(name, "WithCast"));
}

// (int elements, functor, std::array<char*, n> of which the first is the result)
uint64_t ElementsOf(void** arguments) {
  return static_cast<uint64_t>(*static_cast<const int*>(arguments[0]));
}
char* const* DataOf(void** arguments) { return static_cast<char* const*>(arguments[2]); }

// One integer of each of two inputs gives one of the result.
template <typename Result>
Effect Elementwise(void** arguments, const std::function<Result(int64_t, int64_t)>& functor,
                   int inputs) {
  const uint64_t elements = ElementsOf(arguments);
  char* const* const data = DataOf(arguments);
  return [=, to = data[0], a = data[1], b = data[inputs]](Device& device) {
    if (!device.Owns(to)) return device.kept().Forget();
    const std::vector<int64_t> as = ReadIntegers(device, a, elements);
    const std::vector<int64_t> bs = ReadIntegers(device, b, elements);
    std::vector<Result> results;
    for (uint64_t i = 0; i < elements; ++i) results.push_back(functor(as[i], bs[i]));
    WriteResult(results, device.OffsetOf(to), device);
  };
}

Effect KnownElementwise(const std::string& name, void** arguments) {
  if (ElementsOf(arguments) > kMostIntegers) return nullptr;
  // The array's length is of either type.
  if (Has(name, "IPcLm3EE") || Has(name, "IPcLi3EE")) {
    if (Has(name, "CompareFunctorIlE")) {
      const auto comparison = *static_cast<const Comparison*>(arguments[1]);
      return Elementwise<uint8_t>(
          arguments, [=](int64_t a, int64_t b) { return Compare(comparison, a, b) ? 1 : 0; }, 2);
    }
    if (Has(name, "15CUDAFunctor_addIlE")) {
      const auto alpha = *static_cast<const int64_t*>(arguments[1]);
      return Elementwise<int64_t>(
          arguments, [=](int64_t a, int64_t b) { return Sum(a, b, alpha); }, 2);
    }
  }
  if ((Has(name, "IPcLm2EE") || Has(name, "IPcLi2EE")) && Has(name, "21CUDAFunctorOnSelf_addIlE")) {
    // {other, alpha}
    const auto* const numbers = static_cast<const int64_t*>(arguments[1]);
    return Elementwise<int64_t>(
        arguments,
        [other = numbers[0], alpha = numbers[1]](int64_t a, int64_t) {
          return Sum(a, other, alpha);
        },
        1);
  }
  return nullptr;
}

}  // namespace

Effect KnownEffect(const std::string& name, void** arguments, uint32_t block_rows) {
  if (arguments == nullptr) return nullptr;
  if (IsElementwise(name)) return KnownElementwise(name, arguments);
  if (const auto pieces = ReadCat(name, arguments, block_rows)) {
    return [pieces = *pieces](Device& device) { Join(pieces, device); };
  }
  if (const auto reduction = ReadReduction(name, arguments)) {
    return [reduction = *reduction](Device& device) { Reduce(reduction, device); };
  }
  return nullptr;
}

void ForgetWritten(const std::string& name, void** arguments, Device& device) {
  if (arguments == nullptr || !IsElementwise(name)) return device.kept().Forget();
  const char* const result = DataOf(arguments)[0];
  if (!device.Owns(result)) return device.kept().Forget();
  const char zero = 0;
  device.kept().Fill(device.OffsetOf(result), &zero, sizeof(zero),
                     ElementsOf(arguments) * kLargestElement);
}

}  // namespace autobatch::simcuda
