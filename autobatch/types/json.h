#ifndef AUTOBATCH_TYPES_JSON_H_
#define AUTOBATCH_TYPES_JSON_H_

#include <boost/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json_codec.h"

// The one JSON codec: any struct that is described (BOOST_DESCRIBE_STRUCT) reads and writes itself.
//   std::string line = ToJson(observation);
//   absl::StatusOr<Observation> back = FromJson<Observation>(line);
// Absent optionals are null. NaN and infinities are null (JSON has neither). When reading, an
// unknown field is ignored and a missing field keeps its default, so that a newer writer and an
// older reader understand each other; a field of the wrong type is InvalidArgument and named by its
// path ("devices[0].margins[2].bytes").
namespace autobatch {

// Parses one JSON text, into memory from `storage`.
absl::StatusOr<boost::json::value> ParseJson(absl::string_view text,
                                             boost::json::storage_ptr storage = {});

// One line, fields in the order of declaration.
template <typename T>
std::string ToJson(const T& value) {
  std::string text;
  json_internal::Codec<T>::Append(value, text);
  return text;
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
  AB_RETURN_IF_ERROR(json_internal::Codec<T>::Read(json, Place(), value));
  return value;
}

template <typename T>
absl::StatusOr<T> FromJson(absl::string_view text) {
  // The value in between is all thrown away at once.
  unsigned char room[4096];
  boost::json::monotonic_resource storage(room, sizeof room);
  AB_ASSIGN_OR_RETURN(const boost::json::value json, ParseJson(text, &storage));
  return FromJsonValue<T>(json);
}

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_JSON_H_
