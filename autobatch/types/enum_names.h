#ifndef AUTOBATCH_TYPES_ENUM_NAMES_H_
#define AUTOBATCH_TYPES_ENUM_NAMES_H_

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/nearest.h"

namespace autobatch {

// "kOutOfMemory" -> "out_of_memory", "kAmpFp16" -> "amp_fp16".
std::string SnakeCase(absl::string_view enumerator);

// Whether a text is this snake-case name, with '-' read as '_'.
bool IsNamed(absl::string_view text, absl::string_view name);

// The names of every value of a BOOST_DESCRIBE_ENUM, in order of declaration. Made once: messages
// and reports name thousands of values.
template <typename E>
const std::vector<std::string>& EnumNames() {
  static const std::vector<std::string>& names = *[] {
    auto* const made = new std::vector<std::string>();
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
        [&](auto d) { made->push_back(SnakeCase(d.name)); });
    return made;
  }();
  return names;
}

// The name of one value: what JSON and flags say; "?" for a value outside the enum.
template <typename E>
std::string EnumName(E value) {
  const std::vector<std::string>& names = EnumNames<E>();
  const std::string* name = nullptr;
  size_t i = 0;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (d.value == value) name = &names[i];
    ++i;
  });
  return name == nullptr ? "?" : *name;
}

// The value so named; '-' is read as '_'. Absent: there is none.
template <typename E>
std::optional<E> FindEnum(absl::string_view text) {
  const std::vector<std::string>& names = EnumNames<E>();
  std::optional<E> found;
  size_t i = 0;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (IsNamed(text, names[i++])) found = d.value;
  });
  return found;
}

// The same, or InvalidArgument with the nearest valid name. `what` says what the name is of
// ("precision").
template <typename E>
absl::StatusOr<E> ParseEnum(absl::string_view what, absl::string_view text) {
  if (const std::optional<E> found = FindEnum<E>(text); found.has_value()) return *found;
  return UnknownName(what, text, EnumNames<E>());
}

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_ENUM_NAMES_H_
