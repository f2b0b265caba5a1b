#include "autobatch/base/random_word.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace autobatch {

std::string RandomWord() {
  uint64_t word = 0;
  if (getentropy(&word, sizeof(word)) != 0) std::abort();  // Kernels before 3.17.
  return absl::StrCat(absl::Hex(word, absl::kZeroPad16));
}

}  // namespace autobatch
