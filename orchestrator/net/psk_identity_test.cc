#include "orchestrator/net/psk_identity.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(PskIdentityTest, FormatAndParse_EveryRole_SameIdentity) {
  for (const PskIdentity& identity :
       {PskIdentity{Role::kAgent, "run-1"}, PskIdentity{Role::kCoordinator, "job.7/x"},
        PskIdentity{Role::kAgent, std::string(kMaximumRunId, 'r')}}) {
    const auto text = FormatPskIdentity(identity);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*ParsePskIdentity(*text), identity);
  }
}

TEST(PskIdentityTest, Format_BadRunId_InvalidArgument) {
  for (const std::string& run_id : {std::string(), std::string("a b"), std::string("a\n"),
                                    std::string("\xff"), std::string(kMaximumRunId + 1, 'r')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FormatPskIdentity({Role::kAgent, run_id}).status()));
  }
}

TEST(PskIdentityTest, Parse_OtherText_InvalidArgument) {
  using std::string_literals::operator""s;
  for (const std::string& text :
       {""s, "autobatch1"s, "autobatch1 agent "s, "autobatch1 agent a b"s, "autobatch2 agent run"s,
        "autobatch1 agent run\0"s, "Client_identity"s, std::string(65535, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePskIdentity(text).status())) << text;
  }
}

}  // namespace
}  // namespace autobatch
