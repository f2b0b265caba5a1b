#include "autobatch/types/command_template.h"

#include <functional>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/nearest.h"

namespace autobatch {
namespace {

const std::vector<std::string>& Names() {
  static const auto* const names =
      new std::vector<std::string>{"batch",  "micro_batch", "accumulation", "global_batch",
                                   "device", "seed",        "steps",        "output_dir"};
  return *names;
}

std::optional<std::string> ValueOf(absl::string_view name, const PlaceholderValues& values) {
  if (name == "batch" || name == "micro_batch") return absl::StrCat(values.batch);
  if (name == "accumulation") return absl::StrCat(values.accumulation);
  if (name == "global_batch") return absl::StrCat(values.global_batch);
  if (name == "device") return values.device;
  if (name == "seed") return absl::StrCat(values.seed);
  if (name == "steps") return absl::StrCat(values.steps);
  if (name == "output_dir") return values.output_dir;
  return std::nullopt;
}

// The name at the start of `text` if a closing brace follows it; empty, there is none.
absl::string_view NameBeforeBrace(absl::string_view text) {
  size_t end = 0;
  while (end < text.size() && (absl::ascii_islower(text[end]) || text[end] == '_' ||
                               (end > 0 && absl::ascii_isdigit(text[end])))) {
    ++end;
  }
  return end > 0 && end < text.size() && text[end] == '}' ? text.substr(0, end)
                                                          : absl::string_view();
}

// `argument` with every placeholder replaced by what `replace` says of its name.
std::string Replace(absl::string_view argument,
                    const std::function<std::optional<std::string>(absl::string_view)>& replace) {
  std::string out;
  size_t at = 0;
  while (at < argument.size()) {
    const absl::string_view rest = argument.substr(at);
    const bool shell = at > 0 && argument[at - 1] == '$';
    if (rest[0] != '{' || shell) {
      out += rest[0];
      ++at;
      continue;
    }
    if (rest.size() > 1 && rest[1] == '{') {
      const absl::string_view literal = NameBeforeBrace(rest.substr(2));
      const size_t close = literal.size() + 3;
      if (!literal.empty() && close < rest.size() && rest[close] == '}') {
        absl::StrAppend(&out, "{", literal, "}");
        at += close + 1;
        continue;
      }
    }
    const absl::string_view name = NameBeforeBrace(rest.substr(1));
    const std::optional<std::string> value = name.empty() ? std::nullopt : replace(name);
    if (value.has_value()) {
      absl::StrAppend(&out, *value);
      at += name.size() + 2;
    } else {
      out += rest[0];
      ++at;
    }
  }
  return out;
}

}  // namespace

absl::Status CheckPlaceholders(std::span<const std::string> command) {
  absl::Status status;
  for (const std::string& argument : command) {
    Replace(argument, [&](absl::string_view name) -> std::optional<std::string> {
      if (!status.ok() || ValueOf(name, {}).has_value()) return std::nullopt;
      status = UnknownName("placeholder", absl::StrCat("{", name, "}"), [] {
        std::vector<std::string> braced;
        for (const std::string& valid : Names()) braced.push_back(absl::StrCat("{", valid, "}"));
        return braced;
      }());
      status = absl::InvalidArgumentError(
          absl::StrCat(status.message(), "; for these characters themselves write {{", name, "}}"));
      return std::nullopt;
    });
  }
  return status;
}

bool UsesPlaceholder(std::span<const std::string> command, absl::string_view name) {
  bool used = false;
  for (const std::string& argument : command) {
    Replace(argument, [&](absl::string_view found) -> std::optional<std::string> {
      used = used || found == name || (name == "batch" && found == "micro_batch");
      return std::nullopt;
    });
  }
  return used;
}

std::vector<std::string> FillPlaceholders(std::span<const std::string> command,
                                          const PlaceholderValues& values) {
  std::vector<std::string> filled;
  for (const std::string& argument : command) {
    filled.push_back(
        Replace(argument, [&](absl::string_view name) { return ValueOf(name, values); }));
  }
  return filled;
}

}  // namespace autobatch
