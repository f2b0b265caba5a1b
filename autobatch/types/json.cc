#include "autobatch/types/json.h"

#include <cmath>

namespace autobatch {
namespace json_internal {

boost::json::value EncodeDouble(double value) {
  return std::isfinite(value) ? boost::json::value(value) : boost::json::value(nullptr);
}

absl::Status WrongType(const std::string& path, absl::string_view expected,
                       const boost::json::value& found) {
  return absl::InvalidArgumentError(absl::StrCat(path.empty() ? "the text" : path, ": expected ",
                                                 expected, ", found ",
                                                 boost::json::to_string(found.kind()).data()));
}

absl::Status Decode(const boost::json::value& json, const std::string& path, bool& out) {
  if (!json.is_bool()) return WrongType(path, "true or false", json);
  out = json.get_bool();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const std::string& path, int64_t& out) {
  if (!json.is_int64()) return WrongType(path, "a whole number", json);
  out = json.get_int64();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const std::string& path, double& out) {
  if (json.is_null()) {
    out = std::nan("");
    return absl::OkStatus();
  }
  if (!json.is_number()) return WrongType(path, "a number", json);
  out = json.to_number<double>();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const std::string& path, std::string& out) {
  if (!json.is_string()) return WrongType(path, "a string", json);
  out = std::string(json.get_string());
  return absl::OkStatus();
}

}  // namespace json_internal

absl::StatusOr<boost::json::value> ParseJson(absl::string_view text) {
  boost::json::error_code error;
  boost::json::value json = boost::json::parse({text.data(), text.size()}, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("not JSON: ", error.message()));
  return json;
}

namespace {

void PrettyAppend(const boost::json::value& value, const std::string& indent, std::string& out) {
  const std::string inner = indent + "  ";
  if (value.is_object() && !value.get_object().empty()) {
    absl::string_view separator = "{\n";
    for (const auto& [key, field] : value.get_object()) {
      absl::StrAppend(&out, separator, inner, boost::json::serialize(boost::json::string(key)),
                      ": ");
      PrettyAppend(field, inner, out);
      separator = ",\n";
    }
    absl::StrAppend(&out, "\n", indent, "}");
  } else if (value.is_array() && !value.get_array().empty()) {
    absl::string_view separator = "[\n";
    for (const boost::json::value& element : value.get_array()) {
      absl::StrAppend(&out, separator, inner);
      PrettyAppend(element, inner, out);
      separator = ",\n";
    }
    absl::StrAppend(&out, "\n", indent, "]");
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

std::string PrettyJson(const boost::json::value& value) {
  std::string out;
  PrettyAppend(value, "", out);
  out += "\n";
  return out;
}

}  // namespace autobatch
