#include "orchestrator/core/coordinator_config.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

template <typename F>
std::string Complaint(F spoil) {
  CoordinatorConfig config{.run_id = "r"};
  EXPECT_EQ(ValidateConfig(config), absl::OkStatus());
  spoil(config);
  return std::string(ValidateConfig(config).message());
}

TEST(CoordinatorConfigTest, EveryField_IsChecked) {
  using C = CoordinatorConfig;
  EXPECT_THAT(Complaint([](C& c) { c.run_id = ""; }), HasSubstr("run_id: is empty"));
  EXPECT_THAT(Complaint([](C& c) { c.min_nodes = 0; }), HasSubstr("min_nodes: 0"));
  EXPECT_THAT(Complaint([](C& c) { c.min_nodes = 2; }), HasSubstr("max_nodes: 1 is not within 2"));
  EXPECT_THAT(Complaint([](C& c) { c.max_nodes = 5000; }), HasSubstr("max_members: 4096"));
  EXPECT_THAT(Complaint([](C& c) { c.heartbeat = absl::ZeroDuration(); }),
              HasSubstr("heartbeat: 0 is not within 1ms to 1h"));
  EXPECT_THAT(Complaint([](C& c) { c.lost_after = 1; }), HasSubstr("lost_after"));
  EXPECT_THAT(Complaint([](C& c) { c.reconnect_grace = 6; }), HasSubstr("reconnect_grace"));
  EXPECT_THAT(Complaint([](C& c) { c.reconnect_grace = 1; }), HasSubstr("reconnect_grace"));
  EXPECT_THAT(Complaint([](C& c) { c.join_timeout = absl::ZeroDuration(); }),
              HasSubstr("join_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.last_call = absl::Seconds(-1); }), HasSubstr("last_call"));
  EXPECT_EQ(Complaint([](C& c) { c.last_call = absl::ZeroDuration(); }), "");
  EXPECT_THAT(Complaint([](C& c) { c.report_timeout = absl::ZeroDuration(); }),
              HasSubstr("report_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.reduce_timeout = absl::ZeroDuration(); }),
              HasSubstr("reduce_timeout"));
  EXPECT_THAT(Complaint([](C& c) { c.reduce_attempts = 0; }), HasSubstr("reduce_attempts"));
  EXPECT_THAT(Complaint([](C& c) { c.commit_timeout = absl::ZeroDuration(); }),
              HasSubstr("commit_timeout"));
}

}  // namespace
}  // namespace autobatch
