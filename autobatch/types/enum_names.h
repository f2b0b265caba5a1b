#ifndef AUTOBATCH_TYPES_ENUM_NAMES_H_
#define AUTOBATCH_TYPES_ENUM_NAMES_H_

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/nearest.h"

namespace autobatch {

// "kOutOfMemory" -> "out_of_memory", "kAmpFp16" -> "amp_fp16".
std::string SnakeCase(absl::string_view enumerator);

// The names of every value of a BOOST_DESCRIBE_ENUM, in order of declaration.
template <typename E>
std::vector<std::string> EnumNames() {
  std::vector<std::string> names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
      [&](auto d) { names.push_back(SnakeCase(d.name)); });
  return names;
}

// The name of one value: what JSON and flags say; "?" for a value outside the enum.
template <typename E>
std::string EnumName(E value) {
  std::string name = "?";
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (d.value == value) name = SnakeCase(d.name);
  });
  return name;
}

// The value so named; '-' is read as '_'. InvalidArgument names the nearest valid one.
// `what` says what the name is of ("precision").
template <typename E>
absl::StatusOr<E> ParseEnum(absl::string_view what, absl::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  absl::StatusOr<E> result = UnknownName(what, text, EnumNames<E>());
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (SnakeCase(d.name) == name) result = d.value;
  });
  return result;
}

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_ENUM_NAMES_H_
