#include "autobatch/simcuda/text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>

namespace autobatch::simcuda {
namespace {

constexpr double kLargestSize = 4611686018427387904.0;  // 2^62

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.push_back(Trim(text.substr(0, end)));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view unit = Trim(text.substr(static_cast<size_t>(end - text.data())));
  if (unit.ends_with('B')) unit.remove_suffix(1);
  if (unit.ends_with('i')) unit.remove_suffix(1);
  int shift = 0;
  if (!unit.empty()) {
    const size_t power = std::string_view("KMGT").find(unit[0]);
    if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(power) + 1);
  }
  value *= static_cast<double>(uint64_t{1} << shift);
  if (value > kLargestSize) return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::string NearestName(std::string_view name, const std::vector<std::string>& names) {
  const auto nearest = std::min_element(
      names.begin(), names.end(),
      [&](const auto& a, const auto& b) { return EditDistance(name, a) < EditDistance(name, b); });
  return nearest == names.end() ? "" : *nearest;
}

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace autobatch::simcuda
