#include "orchestrator/wire/whole_message.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {
namespace {

TEST(WholeMessageTest, OneFrame_IsItsMessage) {
  const std::string bytes = *EncodeFrame(*EncodeMessage(Heartbeat{.run_id = "r", .sequence = 7}));
  const absl::StatusOr<Message> message = WholeMessage(bytes);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(std::get<Heartbeat>(*message).sequence, 7);
}

TEST(WholeMessageTest, LessOrMoreThanAFrame_InvalidArgument) {
  const std::string bytes = *EncodeFrame(*EncodeMessage(Heartbeat{.run_id = "r"}));
  for (const std::string& wrong : {bytes.substr(0, bytes.size() - 1), bytes + bytes.front()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WholeMessage(wrong).status()));
  }
}

}  // namespace
}  // namespace autobatch
