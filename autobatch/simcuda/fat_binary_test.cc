#include "autobatch/simcuda/fat_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace autobatch::simcuda {
namespace {

using ::testing::ElementsAre;

void Append(std::vector<char>& bytes, const void* data, size_t count) {
  const auto* const from = static_cast<const char*>(data);
  bytes.insert(bytes.end(), from, from + count);
}

template <typename T>
void Append(std::vector<char>& bytes, T value) {
  Append(bytes, &value, sizeof(value));
}

void AppendEntry(std::vector<char>& bytes, uint16_t kind, uint32_t architecture) {
  constexpr uint32_t kHeaderBytes = 64;
  constexpr uint64_t kPayload = 24;
  const size_t start = bytes.size();
  Append(bytes, kind);
  Append(bytes, uint16_t{0});
  Append(bytes, kHeaderBytes);
  Append(bytes, kPayload);
  Append(bytes, uint64_t{0});
  Append(bytes, uint32_t{0});
  Append(bytes, architecture);
  bytes.resize(start + kHeaderBytes + kPayload);
}

struct Wrapper {
  uint32_t magic = 0x466243b1;
  uint32_t version = 1;
  const void* binary = nullptr;
  const void* more = nullptr;
};

TEST(FatBinaryTest, Entries_OfBothKinds_AreRead) {
  std::vector<char> entries;
  AppendEntry(entries, 2, 75);
  AppendEntry(entries, 2, 80);
  AppendEntry(entries, 1, 90);
  std::vector<char> bytes;
  Append(bytes, uint32_t{0xba55ed50});
  Append(bytes, uint16_t{1});
  Append(bytes, uint16_t{16});
  Append(bytes, uint64_t{entries.size()});
  Append(bytes, entries.data(), entries.size());
  Wrapper wrapper;
  wrapper.binary = bytes.data();
  const FatBinary binary = ReadFatBinary(&wrapper);
  EXPECT_TRUE(binary.known);
  EXPECT_THAT(binary.machine_code, ElementsAre(75, 80));
  EXPECT_THAT(binary.ptx, ElementsAre(90));
}

TEST(FatBinaryTest, UnknownLayout_OfAnyKind_TellsNothing) {
  Wrapper wrapper;
  wrapper.magic = 1;
  EXPECT_FALSE(ReadFatBinary(&wrapper).known);
  const char zeros[64] = {};
  Wrapper to_zeros;
  to_zeros.binary = zeros;
  EXPECT_FALSE(ReadFatBinary(&to_zeros).known);
}

TEST(FatBinaryTest, PickedCode_ForADevice_IsWhatTheDriverWouldRun) {
  const FatBinary binary = {.machine_code = {75, 80, 86, 90}, .ptx = {90}, .known = true};
  EXPECT_EQ(PickCode(binary, 86)->binary, 86);
  EXPECT_EQ(PickCode(binary, 89)->binary, 86);
  EXPECT_EQ(PickCode(binary, 80)->binary, 80);
  EXPECT_EQ(PickCode(binary, 120)->ptx, 90);
  EXPECT_EQ(PickCode(binary, 120)->binary, 120);
  EXPECT_FALSE(PickCode(binary, 70).has_value());
  EXPECT_EQ(PickCode(FatBinary{}, 70)->binary, 70);
}

}  // namespace
}  // namespace autobatch::simcuda
