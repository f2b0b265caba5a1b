// Holds schema/node_report.v1.json against the structs that are written, field by field and both
// ways.

#include <gmock/gmock.h>

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/json.h"
#include "autobatch/types/report.h"

namespace autobatch {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr char kRef[] = "#/$defs/";

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

// Compares a schema with the types that are written under it. Every difference is a line.
class Comparison {
 public:
  explicit Comparison(const object& schema) : schema_(schema) {
    CompareStruct<NodeReport>(schema, "report");
    for (const auto& [name, unused] : schema.at("$defs").as_object()) {
      if (used_.count(std::string(name)) == 0) {
        differences_.push_back(absl::StrCat(std::string(name), " is used by nothing"));
      }
    }
  }

  const std::vector<std::string>& differences() const { return differences_; }

 private:
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
    if constexpr (IsOptional<T>::value) {
      using Inner = typename T::value_type;
      if constexpr (IsPlain<Inner>()) {
        CompareType(node, path, array{TypeName<Inner>(), "null"});
      } else {
        const value* any = node.if_contains("anyOf");
        if (any == nullptr || any->as_array().size() != 2) return Differ(path, "is not anyOf two");
        Expect(any->as_array()[1].as_object(), "type", "null", path);
        Compare<Inner>(any->as_array()[0].as_object(), path);
      }
    } else if constexpr (IsVector<T>::value) {
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
    if (ref == nullptr || !absl::StartsWith(ref->as_string().c_str(), kRef)) {
      return Differ(path, "has no $ref");
    }
    const std::string name = std::string(ref->as_string()).substr(sizeof(kRef) - 1);
    used_.insert(name);
    const value* named = schema_.at("$defs").as_object().if_contains(name);
    if (named == nullptr) return Differ(path, "refers to nothing");
    Described(named->as_object(), name);
    if constexpr (std::is_enum_v<T>) {
      array values;
      for (const std::string& text : EnumNames<T>()) values.emplace_back(text);
      if (named->as_object().at("enum") != values) Differ(path, "has other values");
    } else {
      CompareStruct<T>(named->as_object(), path);
    }
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

  const object& schema_;
  std::set<std::string> used_;
  std::vector<std::string> differences_;
};

object ReadSchema() {
  std::ifstream file("autobatch/report/schema/node_report.v1.json");
  std::ostringstream text;
  text << file.rdbuf();
  const absl::StatusOr<value> json = ParseJson(text.str());
  EXPECT_TRUE(json.ok()) << json.status();
  return json.ok() && json->is_object() ? json->as_object() : object();
}

TEST(SchemaTest, EveryField_IsDescribedAndEveryDescriptionHasItsField) {
  EXPECT_THAT(Comparison(ReadSchema()).differences(), ::testing::IsEmpty());
}

TEST(SchemaTest, Version_IsTheOneThatIsWritten) {
  const object schema = ReadSchema();
  EXPECT_EQ(schema.at("properties").at("schema").at("const"), value(kNodeReportSchema));
  EXPECT_EQ(schema.at("$schema"), value("https://json-schema.org/draft/2020-12/schema"));
}

TEST(SchemaTest, AnyChange_IsADifference) {
  const auto differences = [](const auto& change) {
    object schema = ReadSchema();
    change(schema);
    return Comparison(schema).differences();
  };
  const auto def = [](object& schema, const char* name) -> object& {
    return schema.at("$defs").at(name).as_object();
  };
  using ::testing::Contains;
  using ::testing::HasSubstr;
  EXPECT_THAT(
      differences([&](object& s) { def(s, "Margin").at("properties").as_object().erase("bytes"); }),
      Contains("report.devices[].margins[].bytes is not in the schema"));
  EXPECT_THAT(differences([&](object& s) {
                def(s, "Margin").at("properties").as_object()["weight"] = object();
              }),
              Contains("report.devices[].margins[].weight is in no struct"));
  EXPECT_THAT(
      differences([&](object& s) { def(s, "BatchBound").at("enum").as_array().pop_back(); }),
      Contains(HasSubstr("has other values")));
  EXPECT_THAT(differences([&](object& s) { s.at("properties").at("exit_code") = object(); }),
              Contains(HasSubstr("is not of type \"integer\"")));
  EXPECT_THAT(differences([&](object& s) { s.at("$defs").as_object()["Unused"] = object(); }),
              Contains("Unused is used by nothing"));
}

}  // namespace
}  // namespace autobatch
