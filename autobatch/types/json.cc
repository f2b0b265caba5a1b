#include "autobatch/types/json.h"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <utility>

namespace autobatch {
namespace {

// Builds the value as boost::json::parse does, but reads each double to the last bit: Boost's own
// conversion may be one unit in the last place off, and a number that was written would not read
// back as itself.
class ExactHandler {
 public:
  static constexpr size_t max_object_size = boost::json::object::max_size();
  static constexpr size_t max_array_size = boost::json::array::max_size();
  static constexpr size_t max_key_size = boost::json::string::max_size();
  static constexpr size_t max_string_size = boost::json::string::max_size();

  bool on_document_begin(boost::json::error_code&) { return true; }
  bool on_document_end(boost::json::error_code&) { return true; }
  bool on_object_begin(boost::json::error_code&) { return true; }
  bool on_object_end(size_t n, boost::json::error_code&) {
    stack_.push_object(n);
    return true;
  }
  bool on_array_begin(boost::json::error_code&) { return true; }
  bool on_array_end(size_t n, boost::json::error_code&) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(boost::json::string_view s, size_t, boost::json::error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_key(boost::json::string_view s, size_t, boost::json::error_code&) {
    stack_.push_key(s);
    return true;
  }
  bool on_string_part(boost::json::string_view s, size_t, boost::json::error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_string(boost::json::string_view s, size_t, boost::json::error_code&) {
    stack_.push_string(s);
    return true;
  }
  bool on_number_part(boost::json::string_view s, boost::json::error_code&) {
    number_.append(s.data(), s.size());
    return true;
  }
  bool on_int64(int64_t i, boost::json::string_view, boost::json::error_code&) {
    number_.clear();
    stack_.push_int64(i);
    return true;
  }
  bool on_uint64(uint64_t u, boost::json::string_view, boost::json::error_code&) {
    number_.clear();
    stack_.push_uint64(u);
    return true;
  }
  bool on_double(double d, boost::json::string_view s, boost::json::error_code&) {
    number_.append(s.data(), s.size());
    // Leaves Boost's infinity or zero where the number is out of range.
    std::from_chars(number_.data(), number_.data() + number_.size(), d);
    number_.clear();
    stack_.push_double(d);
    return true;
  }
  bool on_bool(bool b, boost::json::error_code&) {
    stack_.push_bool(b);
    return true;
  }
  bool on_null(boost::json::error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(boost::json::string_view, boost::json::error_code&) { return true; }
  bool on_comment(boost::json::string_view, boost::json::error_code&) { return true; }

  void Reset(boost::json::storage_ptr storage) { stack_.reset(std::move(storage)); }
  boost::json::value Release() { return stack_.release(); }

 private:
  boost::json::value_stack stack_;
  std::string number_;
};

}  // namespace

namespace json_internal {

void AppendString(absl::string_view text, std::string& out) {
  static constexpr auto kEscaped = [] {
    std::array<bool, 256> escaped{};
    for (size_t c = 0; c < 0x20; ++c) escaped[c] = true;
    escaped['"'] = escaped['\\'] = true;
    return escaped;
  }();
  out += '"';
  while (!text.empty()) {
    const auto end = std::find_if(text.begin(), text.end(),
                                  [](char c) { return kEscaped[static_cast<unsigned char>(c)]; });
    out.append(text.begin(), end);
    if (end == text.end()) break;
    // Boost knows how.
    const std::string escaped = boost::json::serialize(boost::json::string_view(&*end, 1));
    out.append(escaped, 1, escaped.size() - 2);
    text.remove_prefix(end - text.begin() + 1);
  }
  out += '"';
}

void AppendValue(const boost::json::value& value, std::string& out) {
  out += boost::json::serialize(value);
}

boost::json::value EncodeDouble(double value) {
  return std::isfinite(value) ? boost::json::value(value) : boost::json::value(nullptr);
}

absl::Status WrongType(const Place& place, absl::string_view expected,
                       const boost::json::value& found) {
  const std::string path = place.ToString();
  return absl::InvalidArgumentError(absl::StrCat(path.empty() ? "the text" : path, ": expected ",
                                                 expected, ", found ",
                                                 boost::json::to_string(found.kind()).data()));
}

absl::Status Decode(const boost::json::value& json, const Place& place, bool& out) {
  if (!json.is_bool()) return WrongType(place, "true or false", json);
  out = json.get_bool();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const Place& place, int64_t& out) {
  if (!json.is_int64()) return WrongType(place, "a whole number", json);
  out = json.get_int64();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const Place& place, double& out) {
  if (json.is_null()) {
    out = std::nan("");
    return absl::OkStatus();
  }
  if (!json.is_number()) return WrongType(place, "a number", json);
  out = json.to_number<double>();
  return absl::OkStatus();
}

absl::Status Decode(const boost::json::value& json, const Place& place, std::string& out) {
  if (!json.is_string()) return WrongType(place, "a string", json);
  out.assign(json.get_string().data(), json.get_string().size());
  return absl::OkStatus();
}

}  // namespace json_internal

absl::StatusOr<boost::json::value> ParseJson(absl::string_view text,
                                             boost::json::storage_ptr storage) {
  boost::json::basic_parser<ExactHandler> parser{boost::json::parse_options()};
  parser.handler().Reset(std::move(storage));
  boost::json::error_code error;
  const size_t used = parser.write_some(/*more=*/false, text.data(), text.size(), error);
  if (!error && used < text.size()) error = boost::json::error::extra_data;
  if (error) return absl::InvalidArgumentError(absl::StrCat("not JSON: ", error.message()));
  return parser.handler().Release();
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
