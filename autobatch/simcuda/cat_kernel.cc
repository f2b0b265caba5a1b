#include "autobatch/simcuda/cat_kernel.h"

#include <charconv>
#include <cstring>

namespace autobatch::simcuda {
namespace {

// CatArrayBatchedCopy_contig, _aligned16_contig, _alignedK_contig and _vectorized; the one without
// an ending knows tensors that are not contiguous.
constexpr std::string_view kKernel = "CatArrayBatchedCopy_";
// Their first template arguments: an opaque type of so many bytes, 32-bit indices, one dimension,
// room for so many tensors, no strides.
constexpr std::string_view kElement = "10OpaqueTypeILj";
constexpr std::string_view kOneDimension = "EEEjLi1ELi";
constexpr std::string_view kNoStrides = "ELi1E";

// Takes a number, and what has to follow it, off the text. 0: it is not so.
uint32_t TakeNumber(std::string_view& text, std::string_view then) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(then)) return 0;
  text.remove_prefix(then.size());
  return number;
}

template <typename T>
T ReadAt(const char* structure, uint64_t offset) {
  T value;
  std::memcpy(&value, structure + offset, sizeof(value));
  return value;
}

}  // namespace

std::optional<std::vector<CatPiece>> ReadCat(std::string_view kernel, void** arguments,
                                             uint32_t block_rows) {
  const size_t begin = kernel.find(kKernel);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t element = kernel.find(kElement, begin);
  if (element == std::string_view::npos) return std::nullopt;
  std::string_view rest = kernel.substr(element + kElement.size());
  const uint64_t element_bytes = TakeNumber(rest, kOneDimension);
  const uint64_t room = element_bytes == 0 ? 0 : TakeNumber(rest, kNoStrides);
  if (room < block_rows) return std::nullopt;

  char* const to = *static_cast<char* const*>(arguments[0]);
  // CatArrInputTensorMetadata: T* input[room]; unsigned offset[room], dimSize[room],
  // nElements[room]; …
  const auto* const inputs = static_cast<const char*>(arguments[1]);
  const uint64_t offsets = room * sizeof(void*);
  const uint64_t counts = offsets + 2 * room * sizeof(uint32_t);
  const uint64_t stride = *static_cast<const uint32_t*>(arguments[4]);
  std::vector<CatPiece> pieces;
  for (uint64_t i = 0; i < block_rows; ++i) {
    const uint64_t offset = ReadAt<uint32_t>(inputs, offsets + i * sizeof(uint32_t));
    pieces.push_back(
        {.from = ReadAt<const char*>(inputs, i * sizeof(void*)),
         .to = to + offset * stride * element_bytes,
         .bytes = ReadAt<uint32_t>(inputs, counts + i * sizeof(uint32_t)) * element_bytes});
  }
  return pieces;
}

}  // namespace autobatch::simcuda
