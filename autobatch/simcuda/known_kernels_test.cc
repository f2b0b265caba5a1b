#include "autobatch/simcuda/known_kernels.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "autobatch/simcuda/device.h"
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
    void* arguments[] = {&elements, &functor, data_.data()};
    RunOnKeptBytes(name, arguments, device_);
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

TEST_F(KnownKernelsTest, AnotherKernel_LeavesNothingKnown) {
  Put(data_[1], {5});
  Run("_ZN2at6native13reduce_kernelILi512ELi1E", 1);
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{0});
  Put(data_[1], {5});
  RunOnKeptBytes(kNegate, nullptr, device_);
  EXPECT_EQ(Get<int64_t>(data_[1], 1), std::vector<int64_t>{0});
}

}  // namespace
}  // namespace autobatch::simcuda
