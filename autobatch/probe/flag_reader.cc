#include "autobatch/probe/flag_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/version.h"

namespace autobatch {

namespace po = boost::program_options;

namespace {

// Names that options once had, and what they are called now.
constexpr std::pair<absl::string_view, absl::string_view> kFormerNames[] = {
    {"--advertise", "--advertise-address"},
    {"--micro-steps", "--accumulation"},
    {"--model-parallel", "--model-parallel-size"},
    {"--samples", "--dataset-size"}};

}  // namespace

absl::Status UnknownFlag(const std::string& argument, const po::options_description& options) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> valid;
  for (const auto& option : options.options()) {
    valid.push_back(absl::StrCat("--", option->long_name()));
  }
  for (const auto& [former, present] : kFormerNames) {
    if (name == former && std::find(valid.begin(), valid.end(), present) != valid.end()) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is called '", present, "'"));
    }
  }
  const std::string nearest = Nearest(name, valid);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown option '", name, "'",
      nearest.empty() ? "; see --help" : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::StatusOr<po::variables_map> ParseFlags(const po::options_description& options,
                                             std::span<const std::string> arguments,
                                             absl::string_view misplaced) {
  po::variables_map values;
  try {
    const auto parsed =
        po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
            .options(options)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .positional({})
            .run();
    for (const auto& option : parsed.options) {
      if (option.value.size() == 1 && option.value[0].empty()) {
        return absl::InvalidArgumentError(absl::StrCat("--", option.string_key, " is empty"));
      }
    }
    po::store(parsed, values);
  } catch (const po::unknown_option& error) {
    return UnknownFlag(error.get_option_name(), options);
  } catch (const po::too_many_positional_options_error&) {
    return absl::InvalidArgumentError(
        absl::StrCat("an argument stands without its option; ", misplaced));
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), "; see --help"));
  }
  return values;
}

std::string HelpOrVersion(const po::variables_map& values, std::string (*help)()) {
  if (values["version"].as<bool>()) return absl::StrCat("autobatch ", kVersion, "\n");
  return values["help"].as<bool>() ? help() : "";
}

absl::StatusOr<int64_t> WholeNumber(const std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a whole number, such as 64"));
}

std::function<absl::StatusOr<int64_t>(const std::string&)> WholeNumberFrom(int64_t least) {
  return [least](const std::string& text) -> absl::StatusOr<int64_t> {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= least) return value;
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a whole number from ", least, " up"));
  };
}

absl::StatusOr<double> Number(const std::string& text) {
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number, such as 0.6"));
}

absl::StatusOr<absl::Duration> TimeSpan(const std::string& text) {
  absl::Duration value;
  bool read = absl::ParseDuration(text, &value);
  if (double seconds = 0; !read && absl::SimpleAtod(text, &seconds)) {
    value = absl::Seconds(seconds);
    read = true;
  }
  if (read && value >= absl::ZeroDuration()) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time, such as 90s or 5m"));
}

}  // namespace autobatch
