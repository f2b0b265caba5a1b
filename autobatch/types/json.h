#ifndef AUTOBATCH_TYPES_JSON_H_
#define AUTOBATCH_TYPES_JSON_H_

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"

// The one JSON codec: any struct that is described (BOOST_DESCRIBE_STRUCT) reads and writes itself.
//   std::string line = ToJson(observation);
//   absl::StatusOr<Observation> back = FromJson<Observation>(line);
// Absent optionals are null. NaN and infinities are null (JSON has neither). When reading, an
// unknown field is ignored and a missing field keeps its default, so that a newer writer and an
// older reader understand each other; a field of the wrong type is InvalidArgument and named by its
// path ("devices[0].margins[2].bytes").
namespace autobatch {
namespace json_internal {

boost::json::value EncodeDouble(double value);
absl::Status WrongType(const std::string& path, absl::string_view expected,
                       const boost::json::value& found);
absl::Status Decode(const boost::json::value& json, const std::string& path, bool& out);
absl::Status Decode(const boost::json::value& json, const std::string& path, int64_t& out);
absl::Status Decode(const boost::json::value& json, const std::string& path, double& out);
absl::Status Decode(const boost::json::value& json, const std::string& path, std::string& out);

template <typename T>
struct Codec;

template <typename T>
boost::json::value Encode(const T& value) {
  return Codec<T>::Encode(value);
}

template <typename T>
struct Codec {
  static boost::json::value Encode(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      return EncodeDouble(value);
    } else if constexpr (std::is_enum_v<T>) {
      return boost::json::value(EnumName(value));
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
      boost::json::object object;
      ForEachMember([&](auto d) { object[d.name] = json_internal::Encode(value.*d.pointer); });
      return object;
    } else {
      return boost::json::value(value);
    }
  }

  static absl::Status Read(const boost::json::value& json, const std::string& path, T& out) {
    if constexpr (std::is_enum_v<T>) {
      std::string name;
      AB_RETURN_IF_ERROR(Decode(json, path, name));
      AB_ASSIGN_OR_RETURN(out, ParseEnum<T>(path, name));
      return absl::OkStatus();
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
      if (!json.is_object()) return WrongType(path, "an object", json);
      absl::Status status;
      ForEachMember([&](auto d) {
        const boost::json::value* field = json.get_object().if_contains(d.name);
        if (!status.ok() || field == nullptr) return;
        using Member = std::remove_reference_t<decltype(out.*d.pointer)>;
        status = Codec<Member>::Read(
            *field, path.empty() ? d.name : absl::StrCat(path, ".", d.name), out.*d.pointer);
      });
      return status;
    } else {
      return Decode(json, path, out);
    }
  }

 private:
  template <typename F>
  static void ForEachMember(F f) {
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(f);
  }
};

template <typename T>
struct Codec<std::optional<T>> {
  static boost::json::value Encode(const std::optional<T>& value) {
    return value.has_value() ? json_internal::Encode(*value) : boost::json::value(nullptr);
  }
  static absl::Status Read(const boost::json::value& json, const std::string& path,
                           std::optional<T>& out) {
    out.reset();
    return json.is_null() ? absl::OkStatus() : Codec<T>::Read(json, path, out.emplace());
  }
};

template <typename T>
struct Codec<std::vector<T>> {
  static boost::json::value Encode(const std::vector<T>& value) {
    boost::json::array array;
    for (const T& element : value) array.push_back(json_internal::Encode(element));
    return array;
  }
  static absl::Status Read(const boost::json::value& json, const std::string& path,
                           std::vector<T>& out) {
    if (!json.is_array()) return WrongType(path, "an array", json);
    out.clear();
    for (const boost::json::value& element : json.get_array()) {
      AB_RETURN_IF_ERROR(
          Codec<T>::Read(element, absl::StrCat(path, "[", out.size(), "]"), out.emplace_back()));
    }
    return absl::OkStatus();
  }
};

}  // namespace json_internal

// Parses one JSON text.
absl::StatusOr<boost::json::value> ParseJson(absl::string_view text);

// One line, fields in the order of declaration.
template <typename T>
std::string ToJson(const T& value) {
  return boost::json::serialize(json_internal::Encode(value));
}

// The value itself, to take apart or to extend.
template <typename T>
boost::json::value ToJsonValue(const T& value) {
  return json_internal::Encode(value);
}

// Several lines, indented by two spaces: for people and files.
std::string PrettyJson(const boost::json::value& value);

template <typename T>
std::string ToPrettyJson(const T& value) {
  return PrettyJson(json_internal::Encode(value));
}

template <typename T>
absl::StatusOr<T> FromJsonValue(const boost::json::value& json) {
  T value;
  AB_RETURN_IF_ERROR(json_internal::Codec<T>::Read(json, "", value));
  return value;
}

template <typename T>
absl::StatusOr<T> FromJson(absl::string_view text) {
  AB_ASSIGN_OR_RETURN(const boost::json::value json, ParseJson(text));
  return FromJsonValue<T>(json);
}

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_JSON_H_
