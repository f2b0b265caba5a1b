#include "autobatch/memory/python_numbers.h"

#include <charconv>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace autobatch {
namespace {

// Python drops the sign of a NaN, which C prints.
std::string OrWord(double value, std::string text) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return text;
}

absl::Status CheckFinite(double value) {
  if (std::isnan(value)) return absl::OutOfRangeError("cannot convert float NaN to integer");
  if (std::isinf(value)) return absl::OutOfRangeError("cannot convert float infinity to integer");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> PythonInt(double value) {
  if (absl::Status status = CheckFinite(value); !status.ok()) return status;
  // + 0.0: an integer has no negative zero.
  return std::trunc(value) + 0.0;
}

absl::StatusOr<double> PythonRound(double value) {
  if (absl::Status status = CheckFinite(value); !status.ok()) return status;
  return std::nearbyint(value) + 0.0;
}

std::string PythonRepr(double value) {
  if (!std::isfinite(value)) return OrWord(value, "");
  char buffer[40];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const absl::string_view scientific(buffer, end.ptr - buffer);
  int exponent = 0;  // to_chars always writes one
  (void)absl::SimpleAtoi(scientific.substr(scientific.find('e') + 1), &exponent);
  // Python's own bounds of positional notation.
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  const std::to_chars_result fixed =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  const absl::string_view text(buffer, fixed.ptr - buffer);
  return absl::StrCat(text, text.find('.') == absl::string_view::npos ? ".0" : "");
}

std::string PythonFixed(double value, int digits) {
  return OrWord(value, absl::StrFormat("%.*f", digits, value));
}

std::string PythonGeneral(double value, int digits) {
  return OrWord(value, absl::StrFormat("%.*g", digits, value));
}

}  // namespace autobatch
