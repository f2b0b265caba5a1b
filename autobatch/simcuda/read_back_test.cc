#include "autobatch/simcuda/read_back.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace autobatch::simcuda {
namespace {

// As the framework's kernels are called, but for what is between.
constexpr char kAll[] = "_ZN2at6native13reduce_kernelI15and_kernel_cudaERNS_14TensorIteratorE";
constexpr char kAny[] = "_ZN2at6native13reduce_kernelI14or_kernel_cudaERNS_14TensorIteratorE";
constexpr char kUnique[] = "_ZN3cub23DeviceSelectSweepKernelIllN4cuda3std3__48equal_toIvEE";
constexpr char kNonZero[] = "_ZN3cub23DeviceSelectSweepKernelI9NonZeroOpIbE";
constexpr char kCounts[] = "_ZN3cub23DeviceReduceByKeyKernelINS1_3rle6encode10policy_hubIllE";

class ReadBackTest : public ::testing::Test {
 protected:
  // The rules are read once.
  static void SetUpTestSuite() {
    setenv("AUTOBATCH_SIM_READ_BACK", "NonZeroOp=70; mine =5;rle6encodeIb=3", 1);
  }

  // -1: no rule fits.
  static int64_t Read(const std::string& kernel, size_t bytes = 8) {
    int64_t value = 0;
    return ReadBack(kernel, &value, bytes) ? value : -1;
  }
};

TEST_F(ReadBackTest, UsersRules_CountFirst) {
  EXPECT_EQ(Read(kNonZero), 70);
  EXPECT_EQ(Read("my mine kernel", 4), 5);
  EXPECT_EQ(Read("_ZN3rle6encodeIbE"), 3);
}

TEST_F(ReadBackTest, WhatIsAskedOfAllElements_IsTrueAndOfAnyIsNot) {
  EXPECT_EQ(Read(kAll, 1), 1);
  EXPECT_EQ(Read(kAll, 8), -1) << "another number, read later";
  EXPECT_EQ(Read(kAny, 1), -1);
}

TEST_F(ReadBackTest, NumbersAreFinite) {
  constexpr char kIsFinite[] =
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIbbbNS0_15binary_"
      "internal10MulFunctorIbEEEE";
  EXPECT_EQ(Read(kIsFinite, 1), 1);
  EXPECT_EQ(Read("13BinaryFunctorIbbbNS0_16BitwiseOrFunctorIbEEEE", 1), -1) << "is NaN or infinite";
}

TEST_F(ReadBackTest, UniqueValues_AreOneAtLeast) {
  EXPECT_EQ(Read(kUnique), 1);
  EXPECT_EQ(Read(kCounts), 1);
  EXPECT_EQ(Read("_ZN6thrust8__unique11UniqueAgentIPlS7_E", 4), 1);
  EXPECT_EQ(Read("_ZN2at6native8internal24unique_bool_write_outputEiPKiPbPl", 4), 1);
  EXPECT_EQ(Read(kUnique, 1), -1);
}

TEST_F(ReadBackTest, MoreThanANumberOrNoKernel_HasNoRule) {
  int64_t values[2] = {7, 7};
  EXPECT_FALSE(ReadBack(kUnique, values, sizeof(values)));
  EXPECT_FALSE(ReadBack("", values, 8));
  EXPECT_EQ(values[0], 7);
}

}  // namespace
}  // namespace autobatch::simcuda
