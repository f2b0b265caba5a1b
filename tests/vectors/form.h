#ifndef AUTOBATCH_TESTS_VECTORS_FORM_H_
#define AUTOBATCH_TESTS_VECTORS_FORM_H_

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {

// Where ours differs from what was observed.
struct Difference {
  std::string field;
  std::string expected;
  std::string ours;
};

// Collects the differences of one vector.
class Differences {
 public:
  // Both as JSON, where they are not equal.
  template <typename T>
  void Expect(const std::string& field, const T& expected, const T& ours) {
    if (!(expected == ours)) Add(field, ToJson(expected), ToJson(ours));
  }
  void Add(std::string field, std::string expected, std::string ours) {
    found_.push_back({std::move(field), std::move(expected), std::move(ours)});
  }
  const std::vector<Difference>& found() const { return found_; }

 private:
  std::vector<Difference> found_;
};

// One form of vectors: the fields by which a line is known, and how it is replayed.
struct Form {
  bool (*matches)(const boost::json::object& line);
  // InvalidArgument when the line lacks a field or has one of the wrong type.
  absl::StatusOr<Differences> (*check)(const boost::json::object& line);
};

// Reads a described struct that needs every one of its fields: a vector with a field left out would
// otherwise be replayed with a default that nobody observed.
template <typename T>
absl::StatusOr<T> ReadVector(const boost::json::object& line) {
  std::string missing;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto d) {
        if (missing.empty() && !line.contains(d.name)) missing = d.name;
      });
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("field '", missing, "' is missing"));
  }
  return FromJsonValue<T>(line);
}

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_FORM_H_
