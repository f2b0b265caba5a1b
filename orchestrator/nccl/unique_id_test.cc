#include "orchestrator/nccl/unique_id.h"

#include <gmock/gmock.h>

#include "absl/status/status.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

UniqueId Sample() {
  UniqueId id;
  for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<char>(255 - i);
  return id;
}

TEST(UniqueIdTest, Hex_GivesTheSameBytesBack) {
  const std::string hex = UniqueIdToHex(Sample());
  EXPECT_EQ(hex.size(), 256u);
  EXPECT_EQ(hex.substr(0, 6), "fffefd");
  const absl::StatusOr<UniqueId> back = UniqueIdFromHex(hex);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, Sample());
}

TEST(UniqueIdTest, WrongText_IsRefusedWithoutRepeatingIt) {
  std::string foreign = UniqueIdToHex(Sample());
  foreign[100] = 'x';
  for (const std::string& text : {std::string(), std::string(254, 'a'), std::string(258, 'a'),
                                  std::string(256, ' '), foreign, std::string(256, '\0')}) {
    const absl::StatusOr<UniqueId> id = UniqueIdFromHex(text);
    EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument) << text.size();
    EXPECT_THAT(std::string(id.status().message()), HasSubstr("256 hex digits"));
    EXPECT_THAT(std::string(id.status().message()), Not(HasSubstr("aaaa")));
  }
}

}  // namespace
}  // namespace autobatch
