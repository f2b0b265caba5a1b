#ifndef ORCHESTRATOR_CORE_TAKE_LAST_H_
#define ORCHESTRATOR_CORE_TAKE_LAST_H_

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace autobatch {

// For tests: takes every T out of these variants, and answers the last, if any.
template <typename T, typename Variant>
std::optional<T> TakeLast(std::vector<Variant>& from) {
  std::optional<T> last;
  std::erase_if(from, [&last](Variant& one) {
    T* const match = std::get_if<T>(&one);
    if (match != nullptr) last = std::move(*match);
    return match != nullptr;
  });
  return last;
}

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_TAKE_LAST_H_
