#include "autobatch/base/counted.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

std::string Plural(absl::string_view noun) {
  if (absl::ConsumeSuffix(&noun, "y")) return absl::StrCat(noun, "ies");
  return absl::StrCat(noun, absl::EndsWith(noun, "s") ? "es" : "s");
}

}  // namespace

std::string Counted(int64_t count, absl::string_view noun) {
  return absl::StrCat(FormatCount(count), " ", count == 1 ? std::string(noun) : Plural(noun));
}

}  // namespace autobatch
