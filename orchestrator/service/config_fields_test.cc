#include "orchestrator/service/config_fields.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::string Digest(absl::string_view text) { return absl::StrCat("digest of ", text); }

std::map<std::string, std::string> Fields(const ProbeSpec& spec) {
  const auto fields = ConfigFields(spec, spec.workload, Digest);
  EXPECT_TRUE(fields.ok()) << fields.status();
  std::map<std::string, std::string> map;
  for (const NamedValue& field : *fields) map[field.name] = field.value;
  return map;
}

TEST(ConfigFieldsTest, EveryFieldOfTheWorkload_HasItsName) {
  ProbeSpec spec;
  spec.workload.optimizer = OptimizerKind::kAdamw;
  spec.workload.image_size = 320;
  spec.dataset_size = 1000;
  const auto fields = Fields(spec);
  EXPECT_EQ(fields.at("workload.optimizer"), "\"adamw\"");
  EXPECT_EQ(fields.at("workload.image_size"), "320");
  EXPECT_EQ(fields.at("probe.dataset_size"), "1000");
  EXPECT_EQ(fields.at("probe.headroom_bytes"), "default");
}

TEST(ConfigFieldsTest, WhatDiffersBetweenNodes_IsLeftOut) {
  ProbeSpec here;
  ProbeSpec there;
  there.devices = "cuda:1";
  there.memory_limit_bytes = 1 << 30;
  there.time_limit = absl::Seconds(3);
  there.cache_directory = "/elsewhere";
  there.parallel = 2;
  EXPECT_EQ(Fields(here), Fields(there));
}

TEST(ConfigFieldsTest, TorchScript_CountsByContentAndNotByPath) {
  const auto fields_of = [](const std::string& folder, const std::string& content) {
    ProbeSpec spec;
    spec.workload.kind = WorkloadKind::kTorchScript;
    spec.workload.name = absl::StrCat(testing::TempDir(), "/", folder, "/model.pt");
    EXPECT_TRUE(WriteFileAtomically(spec.workload.name, content).ok());
    return Fields(spec);
  };
  EXPECT_EQ(fields_of("a", "model"), fields_of("b", "model"));
  EXPECT_NE(fields_of("a", "model"), fields_of("a", "other"));
}

TEST(ConfigFieldsTest, TorchScriptThatIsNotThere_IsNamed) {
  ProbeSpec spec;
  spec.workload.kind = WorkloadKind::kTorchScript;
  spec.workload.name = "/no/model.pt";
  const auto fields = ConfigFields(spec, spec.workload, Digest);
  EXPECT_THAT(std::string(fields.status().message()), HasSubstr("/no/model.pt"));
}

TEST(ConfigDigestTest, OrderDoesNotMatterAndValuesDo) {
  std::vector<NamedValue> fields = {{"a", "1"}, {"b", "2"}};
  const std::string digest = ConfigDigest(fields, Digest);
  std::reverse(fields.begin(), fields.end());
  EXPECT_EQ(ConfigDigest(fields, Digest), digest);
  fields[0].value = "3";
  EXPECT_NE(ConfigDigest(fields, Digest), digest);
}

}  // namespace
}  // namespace autobatch
