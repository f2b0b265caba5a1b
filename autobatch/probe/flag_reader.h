#ifndef AUTOBATCH_PROBE_FLAG_READER_H_
#define AUTOBATCH_PROBE_FLAG_READER_H_

#include <boost/program_options.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/files.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {

// Parses arguments into the options that there are. InvalidArgument names what is wrong: an unknown
// option (the nearest one is offered), an empty value, an argument without its option (`misplaced`
// says what would be right).
absl::StatusOr<boost::program_options::variables_map> ParseFlags(
    const boost::program_options::options_description& options,
    std::span<const std::string> arguments, absl::string_view misplaced);

// InvalidArgument with the nearest of the options.
absl::Status UnknownFlag(const std::string& argument,
                         const boost::program_options::options_description& options);

// What --help or --version prints, if one of them was given; else "".
std::string HelpOrVersion(const boost::program_options::variables_map& values,
                          std::string (*help)());

// What values are read by; InvalidArgument shows one that would be right.
absl::StatusOr<int64_t> WholeNumber(const std::string& text);
std::function<absl::StatusOr<int64_t>(const std::string&)> WholeNumberFrom(int64_t least);
absl::StatusOr<double> Number(const std::string& text);
// "90s", "5m", "2.5" (seconds); not below zero.
absl::StatusOr<absl::Duration> TimeSpan(const std::string& text);

// Reads the options of a FlagGroup, one after the other; keeps the first error.
class FlagReader {
 public:
  // `values` outlives it.
  explicit FlagReader(const boost::program_options::variables_map& values) : values_(values) {}

  const absl::Status& status() const { return status_; }

  bool Given(const char* name) const {
    return values_.count(name) > 0 && !values_[name].defaulted();
  }
  bool Switch(const char* name) const { return values_[name].as<bool>(); }

  // Calls parse(text) if the option was given, and keeps its value or its error.
  template <typename T, typename Parse>
  void Read(const char* name, T& out, const Parse& parse) {
    if (!status_.ok() || values_.count(name) == 0) return;
    auto value = parse(values_[name].as<std::string>());
    if (value.ok()) {
      out = *std::move(value);
    } else {
      status_ =
          absl::InvalidArgumentError(absl::StrCat("--", name, ": ", value.status().message()));
    }
  }

  // The text as it is.
  void Text(const char* name, std::string& out) {
    if (status_.ok() && values_.count(name) > 0) out = values_[name].as<std::string>();
  }

  // A path as the user meant it, a default that `out` has included; "-" as it is.
  void Path(const char* name, std::string& out) {
    Text(name, out);
    if (!out.empty() && out != "-") out = ResolveUserPath(out);
  }

  // The path of a file that is to be written. Whether it can be shows now, before the work.
  void Output(const char* name, std::string& out) {
    Path(name, out);
    if (!status_.ok() || values_.count(name) == 0 || out == "-") return;
    const absl::Status writable = CheckFileCanBeWritten(out);
    if (!writable.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("--", name, ": ", writable.message()));
    }
  }

  // The texts of an option that may be given again and again.
  std::vector<std::string> Texts(const char* name) const {
    if (values_.count(name) == 0) return {};
    return values_[name].as<std::vector<std::string>>();
  }

  template <typename T>
  void Enum(const char* name, T& out) {
    Read(name, out, [name](const std::string& text) {
      return ParseEnum<std::decay_t<decltype(ValueType(OutType<T>()))>>(name, text);
    });
  }

 private:
  template <typename T>
  struct OutType {};
  template <typename T>
  static T ValueType(OutType<T>);
  template <typename T>
  static T ValueType(OutType<std::optional<T>>);

  const boost::program_options::variables_map& values_;
  absl::Status status_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_FLAG_READER_H_
