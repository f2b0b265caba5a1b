#include "autobatch/types/enum_names.h"

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

}  // namespace autobatch
