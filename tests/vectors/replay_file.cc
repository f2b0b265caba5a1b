#include "tests/vectors/replay_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/vectors/autobatch_form.h"
#include "tests/vectors/elasticity_form.h"
#include "tests/vectors/form.h"
#include "tests/vectors/profile_units_form.h"
#include "tests/vectors/visible_devices_form.h"

namespace autobatch {
namespace {

absl::StatusOr<Differences> CheckLine(const boost::json::value& line) {
  if (!line.is_object()) return absl::InvalidArgumentError("not a JSON object");
  for (const Form& form :
       {AutobatchForm(), ProfileUnitsForm(), VisibleDevicesForm(), ElasticityForm()}) {
    if (form.matches(line.get_object())) return form.check(line.get_object());
  }
  return absl::InvalidArgumentError(
      "unknown form: none of the fields memory_gib, reserved_after_step_bytes, visible_ordinals, "
      "elasticity");
}

// The vector's own id, or else its place.
std::string Label(const boost::json::value& line, const std::string& place) {
  const boost::json::value* id = line.get_object().if_contains("id");
  return id != nullptr && id->is_string() ? std::string(id->get_string()) : place;
}

}  // namespace

void ReplayFile(const std::string& path, std::ostream& out, std::ostream& error,
                ReplayCounts& counts) {
  std::ifstream file(path);
  if (!file) {
    error << path << ": cannot open: " << std::strerror(errno) << "\n";
    ++counts.unreadable;
    return;
  }
  std::string text;
  int64_t number = 0;
  int64_t vectors = 0;
  while (std::getline(file, text)) {
    const std::string place = absl::StrCat(path, ":", ++number);
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    ++vectors;
    const absl::StatusOr<boost::json::value> line = ParseJson(text);
    const absl::StatusOr<Differences> differences =
        line.ok() ? CheckLine(*line) : absl::StatusOr<Differences>(line.status());
    if (!differences.ok()) {
      error << place << ": " << differences.status().message() << "\n";
      ++counts.unreadable;
      continue;
    }
    for (const Difference& difference : differences->found()) {
      out << Label(*line, place) << ": " << difference.field << "\n  expected "
          << difference.expected << "\n  ours     " << difference.ours << "\n";
    }
    ++(differences->found().empty() ? counts.passed : counts.failed);
  }
  if (file.bad()) {
    error << path << ":" << number + 1 << ": cannot read: " << std::strerror(errno) << "\n";
    ++counts.unreadable;
  } else if (vectors == 0) {
    error << path << ": no vectors\n";
    ++counts.unreadable;
  }
}

}  // namespace autobatch
