#include "autobatch/simcuda/fill_kernel.h"

#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

TEST(FillKernelTest, FillKernels_OfEveryVersion_AreKnownWithTheirType) {
  // torch 2.6 and 2.11, and with a template argument more 2.15.
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_11FillFunctorIlEE"
                       "St5arrayIPcLm1EEEEviT0_T1_"),
      8);
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_11FillFunctorIlEE"
                       "St5arrayIPcLm1EELb0EEEviT0_T1_"),
      8);
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIN3c"
                       "108BFloat16EEESt5arrayIPcLm1EEEEviT0_T1_"),
      2);
}

TEST(FillKernelTest, OtherKernels_OfSimilarNames_AreNot) {
  EXPECT_EQ(FillElementBytes(""), 0);
  // Another functor, several addresses, and a type of unknown size.
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIf"
                       "EESt5arrayIPcLm3EEEEviT0_T1_"),
      0);
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIlEES"
                       "t5arrayIPcLm2EEEEviT0_T1_"),
      0);
  EXPECT_EQ(
      FillElementBytes("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIN3c1"
                       "07complexIfEEEESt5arrayIPcLm1EEEEviT0_T1_"),
      0);
}

TEST(FillKernelTest, Arguments_OfAFill_AreRead) {
  int count = 3;
  int64_t element = 7;
  void* address = &count;
  void* arguments[] = {&count, &element, &address};
  const Fill fill = ReadFillArguments(arguments);
  EXPECT_EQ(fill.address, address);
  EXPECT_EQ(fill.count, 3);
  EXPECT_EQ(fill.element, &element);
}

}  // namespace
}  // namespace autobatch::simcuda
