#include "autobatch/simcuda/known_kernels.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "autobatch/simcuda/device.h"
#include "autobatch/simcuda/reduce_kernel_names.h"
#include "autobatch/simcuda/shared_usage.h"
#include "gtest/gtest.h"

namespace autobatch::simcuda {
namespace {

const std::string kNegate =
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_15neg_kernel_cudaERNS_"
    "18TensorIteratorBase"
    "EEUllE_St5arrayIPcLm2EEEEviT0_T1_";
const std::string kCompare =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_50_GLOBAL__N__17_CompareKernels_cu_"
    "14CompareFunctorIlEESt5arrayIPcLm3EEEEviT0_T1_";
constexpr int kGreater = 1;
const std::string kAdd =
    "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIlEESt5arrayIPcLm3EELi4E23"
    "TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory15LoadWithoutCastENSA_16StoreWithoutCastEEE"
    "viT_T0_T2_T3_T4_T5_";
const std::string kAddNumber =
    "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_21CUDAFunctorOnSelf_addIlEESt5array"
    "IPcLm2EEEEviT0_T1_";
const std::string kCat =
    "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c26CatArrayBatchedCopy_contigINS1_10"
    "OpaqueTypeILj8EEEjLi1ELi2ELi1EEEvPT_";

class KnownKernelsTest : public testing::Test {
 protected:
  KnownKernelsTest() : usage_(""), device_(SmallCard(), usage_) {
    EXPECT_TRUE(device_.CreateContext());
    for (char*& address : data_) address = static_cast<char*>(device_.Allocate(1));
  }

  static DeviceSetup SmallCard() {
    DeviceSetup setup;
    setup.card.total = uint64_t{64} << 20;
    return setup;
  }

  void Put(char* address, const std::vector<int64_t>& values) {
    device_.kept().Write(device_.OffsetOf(address), values.data(), 8 * values.size());
  }

  template <typename T>
  std::vector<T> Get(char* address, size_t count) {
    std::vector<T> values(count);
    device_.kept().Read(device_.OffsetOf(address), values.data(), sizeof(T) * count);
    return values;
  }

  void Run(const std::string& name, int elements) {
    int functor = kGreater;
    RunWith(name, elements, &functor);
  }

  void RunWith(const std::string& name, int elements, void* functor) {
    void* arguments[] = {&elements, functor, data_.data()};
    Run(name, arguments, /*block_rows=*/1);
  }

  void Run(const std::string& name, void** arguments, uint32_t block_rows) {
    if (const Effect effect = KnownEffect(name, arguments, block_rows)) return effect(device_);
    ForgetWritten(name, arguments, device_);
  }

  SharedUsage usage_;
  Device device_;
  std::array<char*, 3> data_ = {};
};

TEST_F(KnownKernelsTest, Elementwise_ForgetsOnlyItsResult) {
  Put(data_[0], {1, 2});
  Put(data_[1], {3});
  Run(kNegate, 2);
  EXPECT_EQ(Get<int64_t>(data_[0], 2), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{3});
}

TEST_F(KnownKernelsTest, ComparisonOfIntegers_IsCarriedOut) {
  Put(data_[1], {5, 7, -1});
  Put(data_[2], {6, 7, -2});
  Run(kCompare, 3);
  EXPECT_EQ(Get<uint8_t>(data_[0], 3), (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{5});
}

TEST_F(KnownKernelsTest, AdditionOfIntegers_IsCarriedOut) {
  Put(data_[1], {5, 7});
  Put(data_[2], {6, -1});
  int64_t alpha = 2;
  RunWith(kAdd, 2, &alpha);
  EXPECT_EQ(Get<int64_t>(data_[0], 2), (std::vector<int64_t>{17, 5}));
  int64_t other_and_alpha[] = {10, 3};
  RunWith(kAddNumber, 2, other_and_alpha);
  EXPECT_EQ(Get<int64_t>(data_[0], 2), (std::vector<int64_t>{35, 37}));
}

TEST_F(KnownKernelsTest, JoinedTensors_AreWhatTheirPartsWere) {
  Put(data_[1], {1, 2});
  Put(data_[2], {3});
  struct {
    const void* input[2];
    uint32_t offset[2] = {0, 2};
    uint32_t size[2] = {2, 1};
    uint32_t elements[2] = {2, 1};
  } inputs = {.input = {data_[1], data_[2]}};
  uint32_t stride = 1;
  void* arguments[] = {static_cast<void*>(data_.data()), &inputs, nullptr, nullptr, &stride};
  Run(kCat, arguments, /*block_rows=*/2);
  EXPECT_EQ(Get<int64_t>(data_[0], 4), (std::vector<int64_t>{1, 2, 3, 0}));
  EXPECT_EQ(Get<int64_t>(data_[2], 1), std::vector<int64_t>{3});
  // More than is kept.
  inputs.elements[1] = KeptBytes::kMost;
  Run(kCat, arguments, /*block_rows=*/2);
  EXPECT_FALSE(device_.kept().any());
}

TEST_F(KnownKernelsTest, ReductionOfIntegers_IsCarriedOut) {
  Put(data_[1], {1, 2, -7});
  alignas(8) char reduction[1056] = {};
  const auto put = [&reduction](size_t offset, auto value) {
    std::memcpy(reduction + offset, &value, sizeof(value));
  };
  put(16, 8);
  put(20, 3);
  put(24, 1);
  put(80, 1);
  put(384, 8);
  put(992, data_[1]);
  put(1000, data_[0]);
  void* arguments[] = {reduction};
  Run(kSumKernel, arguments, /*block_rows=*/1);
  EXPECT_EQ(Get<int64_t>(data_[0], 1), std::vector<int64_t>{-4});
  Run(kMaximumKernel, arguments, /*block_rows=*/1);
  EXPECT_EQ(Get<int64_t>(data_[0], 1), std::vector<int64_t>{2});
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{1});
}

TEST_F(KnownKernelsTest, AnotherKernel_LeavesNothingKnown) {
  Put(data_[1], {5});
  Run("_ZN2at6native13reduce_kernelILi512ELi1E", 1);
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{0});
  Put(data_[1], {5});
  Run(kNegate, nullptr, /*block_rows=*/1);
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{0});
}

}  // namespace
}  // namespace autobatch::simcuda
