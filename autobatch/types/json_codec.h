#ifndef AUTOBATCH_TYPES_JSON_CODEC_H_
#define AUTOBATCH_TYPES_JSON_CODEC_H_

#include <algorithm>
#include <array>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/place.h"

// What is behind json.h, which is what everybody uses: how each described type reads and writes
// itself.
namespace autobatch {
namespace json_internal {

boost::json::value EncodeDouble(double value);
// As Boost writes them.
void AppendString(absl::string_view text, std::string& out);
void AppendValue(const boost::json::value& value, std::string& out);
absl::Status WrongType(const Place& place, absl::string_view expected,
                       const boost::json::value& found);
absl::Status Decode(const boost::json::value& json, const Place& place, bool& out);
absl::Status Decode(const boost::json::value& json, const Place& place, int64_t& out);
absl::Status Decode(const boost::json::value& json, const Place& place, double& out);
absl::Status Decode(const boost::json::value& json, const Place& place, std::string& out);

// A described member's name as it stands in front of its value.
template <typename Descriptor>
inline constexpr auto kKey = [] {
  constexpr absl::string_view name = Descriptor::name;
  std::array<char, name.size() + 3> key{'"'};
  std::copy(name.begin(), name.end(), key.begin() + 1);
  key[name.size() + 1] = '"';
  key[name.size() + 2] = ':';
  return key;
}();

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

  // What Encode() would be as text, without the value in between.
  static void Append(const T& value, std::string& out) {
    if constexpr (std::is_same_v<T, std::string>) {
      AppendString(value, out);
    } else if constexpr (std::is_same_v<T, bool>) {
      out += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      char digits[24];
      out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    } else if constexpr (std::is_enum_v<T>) {
      AppendString(EnumName(value), out);
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
      char before = '{';
      ForEachMember([&](auto d) {
        using Member = std::decay_t<decltype(value.*d.pointer)>;
        out += before;
        out.append(kKey<decltype(d)>.data(), kKey<decltype(d)>.size());
        Codec<Member>::Append(value.*d.pointer, out);
        before = ',';
      });
      out += before == '{' ? "{}" : "}";
    } else {
      AppendValue(Encode(value), out);
    }
  }

  static absl::Status Read(const boost::json::value& json, const Place& place, T& out) {
    if constexpr (std::is_enum_v<T>) {
      if (!json.is_string()) return WrongType(place, "a string", json);
      const absl::string_view name(json.get_string().data(), json.get_string().size());
      const std::optional<T> found = FindEnum<T>(name);
      if (!found.has_value()) return UnknownName(place.ToString(), name, EnumNames<T>());
      out = *found;
      return absl::OkStatus();
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
      if (!json.is_object()) return WrongType(place, "an object", json);
      const boost::json::object& object = json.get_object();
      absl::Status status;
      // Mostly the fields are there in our order.
      auto expected = object.begin();
      ForEachMember([&](auto d) {
        if (!status.ok()) return;
        const auto field =
            expected != object.end() && expected->key() == d.name ? expected : object.find(d.name);
        if (field == object.end()) return;
        expected = field + 1;
        using Member = std::remove_reference_t<decltype(out.*d.pointer)>;
        status = Codec<Member>::Read(field->value(), Place(place, d.name), out.*d.pointer);
      });
      return status;
    } else {
      return Decode(json, place, out);
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
  static void Append(const std::optional<T>& value, std::string& out) {
    if (value.has_value()) {
      Codec<T>::Append(*value, out);
    } else {
      out += "null";
    }
  }
  static absl::Status Read(const boost::json::value& json, const Place& place,
                           std::optional<T>& out) {
    out.reset();
    return json.is_null() ? absl::OkStatus() : Codec<T>::Read(json, place, out.emplace());
  }
};

template <typename T>
struct Codec<std::vector<T>> {
  static boost::json::value Encode(const std::vector<T>& value) {
    boost::json::array array;
    for (const T& element : value) array.push_back(json_internal::Encode(element));
    return array;
  }
  static void Append(const std::vector<T>& value, std::string& out) {
    out += '[';
    for (const T& element : value) {
      if (&element != value.data()) out += ',';
      Codec<T>::Append(element, out);
    }
    out += ']';
  }
  static absl::Status Read(const boost::json::value& json, const Place& place,
                           std::vector<T>& out) {
    if (!json.is_array()) return WrongType(place, "an array", json);
    out.clear();
    out.reserve(json.get_array().size());
    for (const boost::json::value& element : json.get_array()) {
      const Place here(place, out.size());
      AB_RETURN_IF_ERROR(Codec<T>::Read(element, here, out.emplace_back()));
    }
    return absl::OkStatus();
  }
};

}  // namespace json_internal

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_JSON_CODEC_H_
