#include "autobatch/simcuda/kept_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace autobatch::simcuda {
namespace {

constexpr uint64_t kSize = 8 << 20;

std::string ReadText(KeptBytes& kept, uint64_t offset, size_t count) {
  std::string text(count, '?');
  kept.Read(offset, text.data(), count);
  return text;
}

TEST(KeptBytesTest, SmallCopies_UntilTheNextKernel_ReadBack) {
  KeptBytes kept;
  ASSERT_TRUE(kept.Create(kSize));
  EXPECT_EQ(ReadText(kept, 100, 3), std::string(3, '\0'));
  kept.Write(100, "abc", 3);
  kept.Fill(103, "xy", 2, 2);
  EXPECT_EQ(ReadText(kept, 99, 9), std::string("\0abcxyxy\0", 9));
  kept.Forget();
  EXPECT_EQ(ReadText(kept, 99, 9), std::string(9, '\0'));
}

TEST(KeptBytesTest, LargeCopies_Always_ReadAsZero) {
  KeptBytes kept;
  ASSERT_TRUE(kept.Create(kSize));
  const std::string large(KeptBytes::kMost + 1, 'x');
  kept.Write(0, large.data(), large.size());
  EXPECT_EQ(ReadText(kept, 0, 4), std::string(4, '\0'));
}

TEST(KeptBytesTest, LargeCopy_OverKeptBytes_ForgetsThem) {
  KeptBytes kept;
  ASSERT_TRUE(kept.Create(kSize));
  kept.Write(0, "abc", 3);
  const std::string large(KeptBytes::kMost + 1, 'x');
  kept.Write(0, large.data(), large.size());
  EXPECT_EQ(ReadText(kept, 0, 3), std::string(3, '\0'));
}

}  // namespace
}  // namespace autobatch::simcuda
