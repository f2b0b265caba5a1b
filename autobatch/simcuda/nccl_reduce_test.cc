#include "autobatch/simcuda/nccl_reduce.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace autobatch::simcuda {
namespace {

template <typename T>
std::vector<char> Bytes(std::vector<T> values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<char> Reduced(ncclRedOp_t operation, ncclDataType_t type, const std::vector<T>& a,
                          const std::vector<T>& b) {
  std::vector<char> into = Bytes(a);
  Reduce(operation, type, into, Bytes(b));
  return into;
}

TEST(Reduce, OfIntegers_GivesEachOperationsResult) {
  using V = std::vector<int64_t>;
  const V a = {7, -3, int64_t{1} << 60};
  const V b = {-2, 5, 1};
  EXPECT_EQ(Reduced(ncclMin, ncclInt64, a, b), Bytes(V{-2, -3, 1}));
  EXPECT_EQ(Reduced(ncclMax, ncclInt64, a, b), Bytes(V{7, 5, int64_t{1} << 60}));
  EXPECT_EQ(Reduced(ncclSum, ncclInt64, a, b), Bytes(V{5, 2, (int64_t{1} << 60) + 1}));
  EXPECT_EQ(Reduced(ncclProd, ncclInt64, a, b), Bytes(V{-14, -15, int64_t{1} << 60}));
}

TEST(Reduce, OfSmallTypes_WrapsAndKeepsTheSign) {
  EXPECT_EQ(Reduced(ncclSum, ncclInt8, std::vector<int8_t>{127}, {1}), Bytes<int8_t>({-128}));
  EXPECT_EQ(Reduced(ncclSum, ncclUint8, std::vector<uint8_t>{255}, {2}), Bytes<uint8_t>({1}));
  EXPECT_EQ(Reduced(ncclMin, ncclUint32, std::vector<uint32_t>{0xffffffff}, {5}),
            Bytes<uint32_t>({5}));
}

TEST(Reduce, OfFloats_GivesTheirSum) {
  EXPECT_EQ(Reduced(ncclSum, ncclFloat32, std::vector<float>{1.5f}, {2.25f}),
            Bytes<float>({3.75f}));
  EXPECT_EQ(Reduced(ncclMin, ncclFloat64, std::vector<double>{1e300}, {-1e-300}),
            Bytes<double>({-1e-300}));
}

TEST(Reduce, OfHalves_RoundsToTheNearest) {
  // 1.5 + 2.25; 65504 + 65504 is beyond the largest; 2^-24, the smallest, twice.
  EXPECT_EQ(Reduced(ncclSum, ncclFloat16, std::vector<uint16_t>{0x3e00, 0x7bff, 0x0001},
                    {0x4080, 0x7bff, 0x0001}),
            Bytes<uint16_t>({0x4380, 0x7c00, 0x0002}));
  // 1 + 2^-8 lies half way, and goes to the even 1; 1.5 + 2.25.
  EXPECT_EQ(Reduced(ncclSum, ncclBfloat16, std::vector<uint16_t>{0x3f80, 0x3fc0}, {0x3b80, 0x4010}),
            Bytes<uint16_t>({0x3f80, 0x4070}));
}

TEST(ReadNumber, OfEveryHalf_ComesBackTheSame) {
  for (const ncclDataType_t type : {ncclFloat16, ncclBfloat16}) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const double number = ReadNumber(type, &half);
      if (std::isnan(number)) continue;
      std::vector<char> bytes = Bytes<uint16_t>({half});
      Scale(type, 1, bytes);
      ASSERT_EQ(bytes, Bytes<uint16_t>({half})) << type << " " << bits;
    }
  }
}

TEST(Reduce, WithZerosThatNobodySent_IsAsWithZeros) {
  std::vector<char> into;
  Reduce(ncclMin, ncclInt32, into, Bytes<int32_t>({3, -3}));
  EXPECT_EQ(into, Bytes<int32_t>({0, -3}));
  Reduce(ncclSum, ncclInt32, into, {});
  EXPECT_EQ(into, Bytes<int32_t>({0, -3}));
}

TEST(Reduce, OfEightBitFloats_IsUnknown) {
  EXPECT_TRUE(Reduced(ncclSum, ncclFloat8e4m3, std::vector<uint8_t>{1}, {1}).empty());
}

TEST(Scale, OfNumbers_MultipliesThem) {
  std::vector<char> bytes = Bytes<float>({3, -8});
  Scale(ncclFloat32, 0.25, bytes);
  EXPECT_EQ(bytes, Bytes<float>({0.75f, -2}));
}

TEST(Divide, OfLargeIntegers_IsExact) {
  std::vector<char> bytes = Bytes<int64_t>({(int64_t{1} << 60) + 2, -3});
  Divide(ncclInt64, 2, bytes);
  EXPECT_EQ(bytes, Bytes<int64_t>({(int64_t{1} << 59) + 1, -1}));
}

TEST(BytesOf, EachType_IsItsSize) {
  EXPECT_EQ(BytesOf(ncclBfloat16), 2u);
  EXPECT_EQ(BytesOf(ncclUint64), 8u);
  EXPECT_EQ(BytesOf(ncclNumTypes), 0u);
}

}  // namespace
}  // namespace autobatch::simcuda
