#include "autobatch/simcuda/reduce_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "autobatch/simcuda/reduce_kernel_names.h"

namespace autobatch::simcuda {
namespace {

using Kind = IntegerReduction::Kind;

class ReduceKernelTest : public testing::Test {
 protected:
  ReduceKernelTest() {
    Put(16, 8);
    Put(20, 5);
    Put(24, 1);
    Put(80, 1);
    Put(384, 8);
    Put(992, static_cast<const void*>(numbers_));
    Put(1000, static_cast<const void*>(&result_));
  }

  template <typename T>
  void Put(size_t offset, T value) {
    std::memcpy(reduction_ + offset, &value, sizeof(value));
  }

  std::optional<IntegerReduction> Read(const std::string& kernel) {
    void* arguments[] = {reduction_};
    return ReadReduction(kernel, arguments);
  }

  alignas(8) char reduction_[1056] = {};
  int64_t numbers_[5] = {};
  int64_t result_ = 0;
};

TEST_F(ReduceKernelTest, SumOfAllIntegers_SaysWhereTheyAre) {
  const auto sum = Read(kSumKernel);
  ASSERT_TRUE(sum);
  EXPECT_EQ(static_cast<const void*>(sum->from), numbers_);
  EXPECT_EQ(static_cast<void*>(sum->to), &result_);
  EXPECT_EQ(sum->count, 5);
  EXPECT_EQ(sum->kind, Kind::kSum);
}

TEST_F(ReduceKernelTest, LargestInteger_IsReadAsSuch) {
  const auto maximum = Read(kMaximumKernel);
  ASSERT_TRUE(maximum);
  EXPECT_EQ(maximum->kind, Kind::kMaximum);
  EXPECT_EQ(maximum->count, 5);
}

TEST_F(ReduceKernelTest, SumOfOneInteger_WithoutADimension_IsRead) {
  Put(20, 1);
  Put(80, 0);
  EXPECT_TRUE(Read(kSumKernel));
}

TEST_F(ReduceKernelTest, SumByRows_IsNot) {
  Put(24, 2);
  EXPECT_FALSE(Read(kSumKernel));
}

TEST_F(ReduceKernelTest, SumOfEverySecondInteger_IsNot) {
  Put(384, 16);
  EXPECT_FALSE(Read(kSumKernel));
}

TEST_F(ReduceKernelTest, OtherReductions_AreNot) {
  EXPECT_FALSE(
      Read("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_"
           "functorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_"));
  EXPECT_FALSE(
      Read("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_9ArgMaxOpsIlEEjlLi4ELi4EEEEE"
           "vT1_"));
}

}  // namespace
}  // namespace autobatch::simcuda
