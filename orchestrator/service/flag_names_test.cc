#include "orchestrator/service/flag_names.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

std::string Named(const char* error) {
  return std::string(AsFlag(absl::InvalidArgumentError(error)).message());
}

TEST(AsFlag_Field, IsItsFlag) {
  EXPECT_EQ(Named("join_timeout: 0 is not above zero"), "--join-timeout: 0 is not above zero");
  EXPECT_EQ(Named("min_nodes: 2 is below max_nodes"), "--min-nodes: 2 is below max_nodes");
  EXPECT_EQ(Named("once"), "--once");
  EXPECT_EQ(AsFlag(absl::OkStatus()), absl::OkStatus());
}

TEST(AsFlag_WhoAnAgentIs, HasFlagsOfOtherNames) {
  EXPECT_EQ(Named("hello: agent: \"a b\" has"), "--name: \"a b\" has");
  EXPECT_EQ(Named("hello: boot_id: \"a b\" has"), "--node-id: \"a b\" has");
  EXPECT_EQ(Named("hello: run_id: is empty"), "--run-id: is empty");
}

}  // namespace
}  // namespace autobatch
