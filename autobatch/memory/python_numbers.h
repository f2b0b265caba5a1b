#ifndef AUTOBATCH_MEMORY_PYTHON_NUMBERS_H_
#define AUTOBATCH_MEMORY_PYTHON_NUMBERS_H_

#include <string>

#include "absl/status/statusor.h"

// How Python turns floats into integers and text: the seed estimators' answers and log lines hang
// on it. Integers stay doubles here, since Python's have no bound.
namespace autobatch {

// int(value): towards zero. OutOfRange with Python's words on an infinity or NaN.
absl::StatusOr<double> PythonInt(double value);

// round(value): to the nearest, halves to even. OutOfRange as PythonInt.
absl::StatusOr<double> PythonRound(double value);

// f"{value}": the shortest text that reads back as the same float, always with a point, an exponent
// or a word: "60.0", "1e+16", "nan".
std::string PythonRepr(double value);

// f"{value:.<digits>f}": "3.14", "-inf", "nan".
std::string PythonFixed(double value, int digits);

// f"{value:.<digits>g}": "0.1234", "1e+03", "nan".
std::string PythonGeneral(double value, int digits);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_PYTHON_NUMBERS_H_
