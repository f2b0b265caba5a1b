#ifndef AUTOBATCH_REPORT_SCHEMA_COMPARISON_H_
#define AUTOBATCH_REPORT_SCHEMA_COMPARISON_H_

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/report/schema_refs.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace schema_internal {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace schema_internal

// Compares a JSON schema with the types that are written under it, field by field and both ways;
// for tests.
//
//   EXPECT_THAT(SchemaComparison::Differences<NodeReport>(schema, "report"), IsEmpty());
class SchemaComparison {
 public:
  // Every difference is a line. `Root` is the whole document, whose `schema` is the version that is
  // written; `name` what the lines call it; `others` what this one refers to by $id.
  template <typename Root>
  static std::vector<std::string> Differences(const boost::json::object& schema,
                                              const std::string& name,
                                              const std::vector<boost::json::object>& others = {}) {
    SchemaComparison comparison(schema, others);
    comparison.CompareDocument<Root>(schema, name);
    for (const std::string& unused : comparison.refs_.Unused()) {
      comparison.Differ(unused, "is used by nothing");
    }
    return std::move(comparison.differences_);
  }

  // The same of files.
  template <typename Root>
  static std::vector<std::string> FileDifferences(const std::string& path,
                                                  const std::vector<std::string>& others = {}) {
    const absl::StatusOr<boost::json::object> schema = ReadSchema(path);
    if (!schema.ok()) return {schema.status().ToString()};
    const absl::StatusOr<std::vector<boost::json::object>> read = ReadSchemas(others);
    return read.ok() ? Differences<Root>(*schema, path, *read)
                     : std::vector<std::string>{read.status().ToString()};
  }

 private:
  using array = boost::json::array;
  using object = boost::json::object;
  using value = boost::json::value;

  SchemaComparison(const object& schema, const std::vector<object>& others)
      : refs_(schema, others), within_(&schema) {}

  template <typename T>
  void CompareDocument(const object& schema, const std::string& path) {
    Expect(schema, "$schema", "https://json-schema.org/draft/2020-12/schema", path);
    CompareStruct<T>(schema, path);
    if (SchemaVersion(schema) != T{}.schema) Differ(path, "is not of version " + T{}.schema);
  }

  template <typename T>
  void CompareStruct(const object& node, const std::string& path) {
    Expect(node, "type", "object", path);
    const object* properties =
        node.contains("properties") ? node.at("properties").if_object() : nullptr;
    if (properties == nullptr) return Differ(path, "has no properties");
    std::set<std::string> fields;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
        [&](auto d) {
          fields.insert(d.name);
          const std::string field = absl::StrCat(path, ".", d.name);
          const value* property = properties->if_contains(d.name);
          if (property == nullptr) return Differ(field, "is not in the schema");
          Compare<std::remove_reference_t<decltype(std::declval<T&>().*d.pointer)>>(
              property->as_object(), field);
        });
    for (const auto& [name, unused] : *properties) {
      if (fields.count(std::string(name)) == 0) {
        Differ(absl::StrCat(path, ".", std::string(name)), "is in no struct");
      }
    }
    std::set<std::string> required;
    if (node.contains("required")) {
      for (const value& name : node.at("required").as_array()) {
        required.insert(std::string(name.as_string()));
      }
    }
    if (required != fields) Differ(path, "requires other fields than are written");
  }

  // `node`: the schema of one field.
  template <typename T>
  void Compare(const object& node, const std::string& path) {
    if constexpr (schema_internal::IsOptional<T>::value) {
      using Inner = typename T::value_type;
      if constexpr (IsPlain<Inner>()) {
        CompareType(node, path, array{TypeName<Inner>(), "null"});
      } else {
        const value* any = node.if_contains("anyOf");
        if (any == nullptr || any->as_array().size() != 2) return Differ(path, "is not anyOf two");
        Expect(any->as_array()[1].as_object(), "type", "null", path);
        Compare<Inner>(any->as_array()[0].as_object(), path);
      }
    } else if constexpr (schema_internal::IsVector<T>::value) {
      Expect(node, "type", "array", path);
      Described(node, path);
      Compare<typename T::value_type>(node.at("items").as_object(), path + "[]");
    } else if constexpr (std::is_same_v<T, double>) {
      CompareType(node, path, array{"number", "null"});  // NaN is written as null.
    } else if constexpr (IsPlain<T>()) {
      CompareType(node, path, TypeName<T>());
    } else {
      CompareNamed<T>(node, path);
    }
  }

  template <typename T>
  void CompareNamed(const object& node, const std::string& path) {
    const value* ref = node.if_contains("$ref");
    if (ref == nullptr) return Differ(path, "has no $ref");
    const SchemaRefs::Target target = refs_.Find(ref->as_string().c_str(), *within_);
    if (target.document == nullptr) return Differ(path, "refers to a schema that is not here");
    if (target.node == nullptr) return Differ(path, "refers to nothing");
    const object* outer = std::exchange(within_, target.document);
    if (!target.name.empty()) Described(*target.node, target.name);
    if constexpr (std::is_enum_v<T>) {
      array values;
      for (const std::string& text : EnumNames<T>()) values.emplace_back(text);
      if (target.node->at("enum") != values) Differ(path, "has other values");
    } else if constexpr (requires { T{}.schema; }) {
      CompareDocument<T>(*target.node, path);
    } else {
      CompareStruct<T>(*target.node, path);
    }
    within_ = outer;
  }

  template <typename T>
  static constexpr bool IsPlain() {
    return std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
  }

  template <typename T>
  static const char* TypeName() {
    if constexpr (std::is_same_v<T, bool>) return "boolean";
    if constexpr (std::is_same_v<T, double>) return "number";
    return std::is_integral_v<T> ? "integer" : "string";
  }

  void CompareType(const object& node, const std::string& path, const value& type) {
    if (!node.contains("type") || node.at("type") != type) {
      Differ(path, absl::StrCat("is not of type ", boost::json::serialize(type)));
    }
    // Elements of an array are told by the array.
    if (!absl::EndsWith(path, "[]")) Described(node, path);
  }

  void Described(const object& node, const std::string& path) {
    if (!node.contains("description")) Differ(path, "has no description");
  }

  void Expect(const object& node, const char* key, const char* expected, const std::string& path) {
    if (!node.contains(key) || node.at(key) != value(expected)) {
      Differ(path, absl::StrCat("has another ", key, " than ", expected));
    }
  }

  void Differ(const std::string& path, const std::string& what) {
    differences_.push_back(absl::StrCat(path, " ", what));
  }

  SchemaRefs refs_;
  // The schema that is read now.
  const object* within_;
  std::vector<std::string> differences_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_SCHEMA_COMPARISON_H_
