#include "autobatch/worker/budgeted_cpu_allocator.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <thread>
#include <vector>

namespace autobatch {
namespace {

constexpr int64_t kMiB = 1 << 20;

class BudgetedCpuAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    allocator_.ClearRefusal();
    allocator_.ResetPeaks();
    start_ = allocator_.current_bytes();
  }
  void TearDown() override { allocator_.SetBudget(BudgetedCpuAllocator::kUnlimited); }

  BudgetedCpuAllocator& allocator_ = BudgetedCpuAllocator::Install();
  int64_t start_ = 0;
};

TEST_F(BudgetedCpuAllocatorTest, Peaks_AfterTensorsComeAndGo_AreExact) {
  const int64_t requested = allocator_.current_requested_bytes();
  const int64_t allocations = allocator_.allocations();
  {
    at::Tensor a = at::empty({1000});
    at::Tensor b = at::empty({3}, at::kByte);
    EXPECT_EQ(allocator_.current_requested_bytes() - requested, 4003);
  }
  EXPECT_EQ(allocator_.current_bytes(), start_);
  EXPECT_EQ(allocator_.peak_bytes() - start_, (4032 + 64) + (64 + 64));
  EXPECT_EQ(allocator_.peak_requested_bytes() - requested, 4003);
  EXPECT_EQ(allocator_.allocations() - allocations, 2);
  allocator_.ResetPeaks();
  EXPECT_EQ(allocator_.peak_bytes(), start_);
}

TEST_F(BudgetedCpuAllocatorTest, Budget_AtTheLastByte_IsExact) {
  allocator_.SetBudget(start_ + BudgetedCpuAllocator::Footprint(kMiB));
  {
    at::Tensor fits = at::empty({kMiB}, at::kByte);
  }
  EXPECT_FALSE(allocator_.refused_bytes().has_value());
  EXPECT_THROW(at::empty({kMiB + 1}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(allocator_.refused_bytes(), kMiB + 1);
  EXPECT_EQ(allocator_.current_bytes(), start_);
  EXPECT_NO_THROW(at::empty({kMiB}, at::kByte));
}

TEST_F(BudgetedCpuAllocatorTest, Refusal_OfSeveral_KeepsTheFirst) {
  allocator_.SetBudget(start_);
  EXPECT_THROW(at::empty({100}, at::kByte), c10::OutOfMemoryError);
  EXPECT_THROW(at::empty({200}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(allocator_.refused_bytes(), 100);
  allocator_.ClearRefusal();
  EXPECT_FALSE(allocator_.refused_bytes().has_value());
}

TEST_F(BudgetedCpuAllocatorTest, Data_OfAnyTensor_IsAligned) {
  for (int64_t bytes : {1, 63, 64, 65, 4097}) {
    at::Tensor tensor = at::empty({bytes}, at::kByte);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 64, 0u) << bytes;
  }
  EXPECT_EQ(at::empty({0}).numel(), 0);
}

// oneDNN takes memory by raw_allocate and gives it back by raw_deleter.
TEST_F(BudgetedCpuAllocatorTest, Convolution_ByOneDnn_RunsAndGivesItsScratchBack) {
  {
    at::Tensor input = at::randn({4, 16, 32, 32}).set_requires_grad(true);
    at::Tensor weight = at::randn({32, 16, 3, 3}).set_requires_grad(true);
    const int64_t before = allocator_.current_requested_bytes();
    at::Tensor output = at::conv2d(input, weight);
    EXPECT_GE(allocator_.peak_requested_bytes() - before, output.numel() * 4);
    output.sum().backward();
    EXPECT_EQ(weight.grad().sizes(), weight.sizes());
  }
  // What oneDNN caches (primitives, a reordered weight) is not tensors; a few pages at most.
  EXPECT_LE(allocator_.current_bytes() - start_, kMiB);
  void* raw = allocator_.raw_allocate(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(raw) % 64, 0u);
  allocator_.raw_deallocate(raw);
}

// Autograd hands the exception of a node to the caller of backward with its type.
TEST_F(BudgetedCpuAllocatorTest, Refusal_InsideBackward_IsTypedAndEverythingIsFreed) {
  {
    at::Tensor x = at::ones({kMiB}).set_requires_grad(true);
    at::Tensor loss = x.expand({4, kMiB}).exp().sum();
    allocator_.SetBudget(allocator_.current_bytes() + kMiB);
    EXPECT_THROW(loss.backward(), c10::OutOfMemoryError);
    EXPECT_EQ(allocator_.refused_bytes(), 16 * kMiB);
  }
  EXPECT_EQ(allocator_.current_bytes(), start_);
}

TEST_F(BudgetedCpuAllocatorTest, Threads_AllocatingAtOnce_NeverPassTheBudget) {
  constexpr int kThreads = 4;
  allocator_.SetBudget(start_ + 3 * BudgetedCpuAllocator::Footprint(kMiB));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 2000; ++n) {
        try {
          at::Tensor tensor = at::empty({kMiB}, at::kByte);
        } catch (const c10::OutOfMemoryError&) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(allocator_.peak_bytes(), allocator_.budget_bytes());
  EXPECT_EQ(allocator_.current_bytes(), start_);
}

TEST_F(BudgetedCpuAllocatorTest, Size_BeyondAnyMachine_IsRefusedNotOverflowed) {
  EXPECT_THROW(allocator_.allocate(~std::size_t{0}), c10::OutOfMemoryError);
  EXPECT_THROW(allocator_.allocate(std::size_t{1} << 62), c10::OutOfMemoryError);
  EXPECT_EQ(allocator_.current_bytes(), start_);
}

// What this process keeps resident, in bytes.
int64_t Resident() {
  int64_t pages = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(BudgetedCpuAllocatorTest, FreedMemory_StaysForTheNextStepAndGoesWhenReleased) {
  const int64_t before = Resident();
  {
    std::vector<at::Tensor> activations;
    for (int i = 0; i < 64; ++i) activations.push_back(at::ones({4 * kMiB}, at::kByte));
  }
  EXPECT_GT(Resident() - before, 200 * kMiB);
  BudgetedCpuAllocator::ReleaseFreeMemory();
  EXPECT_LT(Resident() - before, 50 * kMiB);
}

}  // namespace
}  // namespace autobatch
