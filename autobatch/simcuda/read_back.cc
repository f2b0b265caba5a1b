#include "autobatch/simcuda/read_back.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

}  // namespace

bool ReadBack(std::string_view kernel, void* to, size_t bytes) {
  static const bool trace = Environment("AUTOBATCH_SIM_TRACE") == "1";
  if (bytes > kLargestNumber || kernel.empty()) return false;
  if (trace) {
    std::fprintf(stderr, "simcuda: %zu bytes read back after kernel %s\n", bytes,
                 std::string(kernel).c_str());
  }
  for (const Rule& rule : Rules()) {
    if (kernel.find(rule.part_of_name) == std::string_view::npos) continue;
    std::memcpy(to, &rule.value, bytes);
    return true;
  }
  return false;
}

}  // namespace autobatch::simcuda
