#include "autobatch/simcuda/read_back.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

constexpr size_t kLargestNumber = 8;

struct Rule {
  std::string part_of_name;
  int64_t value;
};

const std::vector<Rule>& Rules() {
  static const auto* const rules = [] {
    auto* list = new std::vector<Rule>;
    const std::string text = Environment("AUTOBATCH_SIM_READ_BACK").value_or("");
    for (const std::string_view entry : Split(text, ';')) {
      const size_t equals = entry.rfind('=');
      if (equals == std::string_view::npos || equals == 0) continue;
      list->push_back(
          {.part_of_name = std::string(Trim(entry.substr(0, equals))),
           .value = std::strtoll(std::string(entry.substr(equals + 1)).c_str(), nullptr, 10)});
    }
    return list;
  }();
  return *rules;
}

// What these kernels leave where a program looks next. Other numbers that happen to be read then
// are of another size.
struct OwnRule {
  std::string_view parts_of_name[2];
  size_t least_bytes;
  size_t most_bytes;
  int64_t value;
};
constexpr OwnRule kOwnRules[] = {
    {{"and_kernel_cuda", ""}, 1, 1, 1},
    // isfinite() of one number: a product of two truths.
    {{"13BinaryFunctorIbbb", "10MulFunctorIbE"}, 1, 1, 1},
    // Run lengths; the first of equal neighbours; the same by rows, and of booleans.
    {{"3rle6encode", ""}, 4, 8, 1},
    {{"DeviceSelectSweepKernel", "equal_to"}, 4, 8, 1},
    {{"UniqueAgent", ""}, 4, 8, 1},
    {{"unique_bool_write_output", ""}, 4, 8, 1},
};

bool Has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

std::optional<int64_t> ValueAfter(std::string_view kernel, size_t bytes) {
  for (const Rule& rule : Rules()) {
    if (Has(kernel, rule.part_of_name)) return rule.value;
  }
  for (const OwnRule& rule : kOwnRules) {
    if (bytes < rule.least_bytes || bytes > rule.most_bytes) continue;
    if (Has(kernel, rule.parts_of_name[0]) && Has(kernel, rule.parts_of_name[1])) return rule.value;
  }
  return std::nullopt;
}

}  // namespace

bool ReadBack(std::string_view kernel, void* to, size_t bytes) {
  static const bool trace = Environment("AUTOBATCH_SIM_TRACE") == "1";
  if (bytes > kLargestNumber || kernel.empty()) return false;
  if (trace) {
    std::fprintf(stderr, "simcuda: %zu bytes read back after kernel %s\n", bytes,
                 std::string(kernel).c_str());
  }
  const std::optional<int64_t> value = ValueAfter(kernel, bytes);
  if (!value.has_value()) return false;
  std::memcpy(to, &*value, bytes);
  return true;
}

}  // namespace autobatch::simcuda
