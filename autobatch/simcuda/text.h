#ifndef AUTOBATCH_SIMCUDA_TEXT_H_
#define AUTOBATCH_SIMCUDA_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autobatch::simcuda {

// `text` cut at every `separator`; the pieces without the space around them. "" gives one empty
// piece.
std::vector<std::string_view> Split(std::string_view text, char separator);

std::string_view Trim(std::string_view text);

// A whole decimal number without sign. Absent where `text` is anything else, or does not fit.
std::optional<uint64_t> ParseNumber(std::string_view text);

// "24GiB", "1.5G", "400MiB", "4096": units are powers of 1024, B may be left out. Absent where
// `text` is no size, is negative, or exceeds 2^62.
std::optional<uint64_t> ParseBytes(std::string_view text);

// The one of `names` that takes the fewest edits to become `name`; "" where there are no names.
std::string NearestName(std::string_view name, const std::vector<std::string>& names);

// The environment variable's value; absent where it is unset.
std::optional<std::string> Environment(const char* name);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_TEXT_H_
