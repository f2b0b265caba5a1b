#ifndef ORCHESTRATOR_DIALECT_ENVIRONMENT_H_
#define ORCHESTRATOR_DIALECT_ENVIRONMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// Variables by name, as a value: a reader of them can be tested on any launcher's.
using Environment = std::map<std::string, std::string, std::less<>>;

// From the null-terminated "NAME=value" array of a process; what is not of that form is left out.
Environment EnvironmentFrom(const char* const* variables);

// Reads variables and collects what is wrong with them, each sentence naming its variable. An empty
// variable counts as absent: launchers unset that way.
class EnvironmentReader {
 public:
  EnvironmentReader(const Environment& environment, std::vector<std::string>& problems)
      : environment_(environment), problems_(problems) {}

  bool Has(absl::string_view name) const { return !Text(name).empty(); }
  std::string Text(absl::string_view name) const;
  // The first of these variables that is there, or "".
  std::string FirstOf(std::initializer_list<absl::string_view> names) const;
  // A whole number from `least` to 2^31 - 1; anything else is a problem, and absent.
  std::optional<int64_t> Number(absl::string_view name, int64_t least = 0);

  void Problem(std::string text) { problems_.push_back(std::move(text)); }
  // A problem unless rank < size; absent values are none.
  void CheckBelow(absl::string_view rank_name, std::optional<int64_t> rank,
                  absl::string_view size_name, std::optional<int64_t> size);
  // Reads both, and checks them so.
  void ReadRank(absl::string_view rank_name, std::optional<int64_t>& rank,
                absl::string_view size_name, std::optional<int64_t>& size);

 private:
  const Environment& environment_;
  std::vector<std::string>& problems_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_ENVIRONMENT_H_
