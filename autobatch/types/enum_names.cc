#include "autobatch/types/enum_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace autobatch {

std::string SnakeCase(absl::string_view enumerator) {
  std::string name;
  for (char c : enumerator.substr(1)) {  // Without the leading k.
    if (absl::ascii_isupper(static_cast<unsigned char>(c))) {
      if (!name.empty()) name += '_';
      c = absl::ascii_tolower(static_cast<unsigned char>(c));
    }
    name += c;
  }
  return name;
}

bool IsNamed(absl::string_view text, absl::string_view name) {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char a, char b) { return a == b || (a == '-' && b == '_'); });
}

}  // namespace autobatch
