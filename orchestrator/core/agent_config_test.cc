#include "orchestrator/core/agent_config.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

template <typename F>
std::string Complaint(F spoil) {
  AgentConfig config{.hello = {.run_id = "r",
                               .agent = "a",
                               .incarnation = "1",
                               .boot_id = "b",
                               .devices = {{.uuid = "GPU-1"}}}};
  EXPECT_EQ(ValidateConfig(config), absl::OkStatus());
  spoil(config);
  return std::string(ValidateConfig(config).message());
}

TEST(AgentConfigTest, EveryField_IsChecked) {
  using C = AgentConfig;
  EXPECT_THAT(Complaint([](C& c) { c.hello.agent = "two words"; }), HasSubstr("agent"));
  EXPECT_THAT(Complaint([](C& c) { c.hello.incarnation = std::string(120, 'x'); }),
              HasSubstr("incarnation"));
  EXPECT_THAT(Complaint([](C& c) { c.join_timeout = absl::ZeroDuration(); }),
              HasSubstr("join_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.hello_timeout = absl::ZeroDuration(); }),
              HasSubstr("hello_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.lost_timeout = absl::ZeroDuration(); }),
              HasSubstr("lost_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.rejoin_timeout = absl::ZeroDuration(); }),
              HasSubstr("rejoin_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.duplicate_patience = absl::ZeroDuration(); }),
              HasSubstr("duplicate_patience"));
  EXPECT_THAT(Complaint([](C& c) { c.first_backoff = absl::ZeroDuration(); }),
              HasSubstr("first_backoff"));
  EXPECT_THAT(Complaint([](C& c) { c.last_backoff = absl::Milliseconds(1); }),
              HasSubstr("last_backoff"));
}

TEST(AgentConfigTest, HelloThatNoStrangerMaySend_IsRefusedAtHome) {
  EXPECT_THAT(Complaint([](AgentConfig& c) {
                for (int i = 0; i < 100; ++i) {
                  c.hello.config.push_back({absl::StrCat("s", i), std::string(1000, 'x')});
                }
              }),
              HasSubstr("bytes; 65536"));
}

}  // namespace
}  // namespace autobatch
