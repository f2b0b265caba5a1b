#include "autobatch/trial/command_memory.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "autobatch/trial/process_tree.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

Device Gpu() {
  Device gpu{.uuid = "GPU-1", .kind = DeviceKind::kCuda};
  gpu.memory.total_bytes = 1000 * kMiB;
  return gpu;
}

MemoryInfo Use(int64_t free_mib, std::vector<ProcessUse> processes = {}) {
  return {
      .total_bytes = 1000 * kMiB, .free_bytes = free_mib * kMiB, .others = std::move(processes)};
}

TEST(CommandMemoryTest, CpuLimit_IsTheTrialsAndPassedByWhatIsSeen) {
  CommandMemory memory({.kind = DeviceKind::kCpu}, {.limit_bytes = 100}, {});
  EXPECT_EQ(memory.limit(), 100);
  EXPECT_EQ(memory.Fraction(), std::nullopt);
  EXPECT_FALSE(memory.Exceeds(0));
  memory.AddProcess(101);
  EXPECT_TRUE(memory.Exceeds(0));
  EXPECT_FALSE(memory.Exceeds(1));
  EXPECT_EQ(memory.peak_bytes(), 101);
  EXPECT_EQ(memory.host_peak_bytes(), 101);
}

TEST(CommandMemoryTest, GpuLimit_IsWhatIsFreeLessWhatIsHeldBack) {
  CommandMemory memory(Gpu(), {.reserve_bytes = 100 * kMiB}, [] { return Use(600); });
  EXPECT_EQ(memory.limit(), 500 * kMiB);
  EXPECT_DOUBLE_EQ(*memory.Fraction(), 0.5);
  CommandMemory limited(Gpu(), {.limit_bytes = 250 * kMiB, .reserve_bytes = 100 * kMiB},
                        [] { return Use(600); });
  EXPECT_DOUBLE_EQ(*limited.Fraction(), 0.25);
  CommandMemory full(Gpu(), {.reserve_bytes = 100 * kMiB}, [] { return Use(50); });
  EXPECT_EQ(full.limit(), 0);
}

TEST(CommandMemoryTest, ContextKnownFromAnotherTrial_IsNotTheAllocatorsToTake) {
  const TrialSpec trial = {.limit_bytes = 250 * kMiB};
  const auto read = [] { return Use(600); };
  EXPECT_DOUBLE_EQ(*CommandMemory(Gpu(), trial, read, 50 * kMiB).Fraction(), 0.2);
  EXPECT_EQ(CommandMemory(Gpu(), trial, read, 300 * kMiB).AllocatorLimit(), 1);
}

TEST(CommandMemoryTest, ContextSeenSmallerThanInAnotherTrial_CountsAsThere) {
  CommandMemory memory(
      Gpu(), {}, [] { return Use(400, {{.pid = getpid(), .bytes = 500 * kMiB}}); }, 250 * kMiB);
  ObservedMemory observed = {};
  memory.Believe(observed);
  observed.processes = 1;
  observed.held_bytes = observed.peak_bytes = 300 * kMiB;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_EQ(memory.context_bytes(), 250 * kMiB) << "200 MiB were seen here";
  EXPECT_EQ(memory.peak_bytes(), 550 * kMiB);
}

TEST(CommandMemoryTest, ProcessesTheDriverNames_AreCountedIfTheyAreOurs) {
  // This test is one of the processes below its parent.
  CommandMemory memory(Gpu(), {}, [] {
    return Use(100, {{.pid = getpid(), .bytes = 300 * kMiB}, {.pid = 1, .bytes = 600 * kMiB}});
  });
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_EQ(memory.peak_bytes(), 300 * kMiB);
  EXPECT_TRUE(memory.warnings().empty());
  EXPECT_FALSE(memory.Exceeds(0));
}

TEST(CommandMemoryTest, ProcessesTheDriverDoesNotName_AreSeenByTheDevicesUse) {
  int64_t free = 900;
  CommandMemory memory(Gpu(), {}, [&] { return Use(free, {{.pid = getpid()}}); });
  free = 500;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  free = 700;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(2));
  EXPECT_EQ(memory.peak_bytes(), 400 * kMiB);
  ASSERT_EQ(memory.warnings().size(), 1u);
  EXPECT_THAT(memory.warnings()[0], HasSubstr("grew"));
}

TEST(CommandMemoryTest, ObservedAllocations_AreThePeakAndTheContextComesOnTop) {
  int64_t used = 500;
  CommandMemory memory(Gpu(), {},
                       [&] { return Use(400, {{.pid = getpid(), .bytes = used * kMiB}}); });
  ObservedMemory observed = {};
  memory.Believe(observed);
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_FALSE(memory.observed());
  EXPECT_EQ(memory.peak_bytes(), 500 * kMiB) << "nobody counts: the driver's view";
  observed.processes = 1;
  observed.held_bytes = 300 * kMiB;
  observed.peak_bytes = 350 * kMiB;
  observed.refusals = 2;
  observed.refused_bytes = 9;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(2));
  EXPECT_TRUE(memory.observed());
  EXPECT_EQ(memory.context_bytes(), 200 * kMiB);
  EXPECT_EQ(memory.peak_bytes(), 550 * kMiB);
  EXPECT_EQ(memory.refusals(), 2);
  EXPECT_EQ(memory.refused_bytes(), 9);
  EXPECT_FALSE(memory.untouched());
  // One that is killed leaves its count, and the driver knows of nothing any more.
  used = 100;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(3));
  EXPECT_EQ(memory.context_bytes(), 200 * kMiB);
  // A process that ends has given back what the driver still counts.
  observed.held_bytes = 0;
  observed.ended = 1;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(3));
  EXPECT_EQ(memory.peak_bytes(), 550 * kMiB);
}

TEST(CommandMemoryTest, ContextThatWasNeverSeen_IsNotTakenForNone) {
  CommandMemory memory(Gpu(), {}, [] { return Use(1000, {{.pid = getpid(), .bytes = 0}}); });
  ObservedMemory observed = {};
  memory.Believe(observed);
  observed.processes = 1;
  observed.held_bytes = observed.peak_bytes = 300 * kMiB;
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_EQ(memory.context_bytes(), std::nullopt);
}

TEST(CommandMemoryTest, DeviceThatNobodyUsed_IsToldFromOneThatNobodySaw) {
  ObservedMemory observed = {};
  CommandMemory memory(Gpu(), {}, [] { return Use(1000); });
  memory.Believe(observed);
  EXPECT_FALSE(memory.untouched()) << "it was not looked at yet";
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_TRUE(memory.untouched());
  CommandMemory unread(Gpu(), {}, {});
  unread.Believe(observed);
  unread.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_FALSE(unread.untouched());
}

TEST(CommandMemoryTest, DeviceThatCannotBeRead_HasNoNumbersAndSaysWhy) {
  CommandMemory memory(Gpu(), {}, [] { return absl::UnavailableError("lost"); });
  memory.Read(ReadProcessTree(getppid()), absl::Seconds(1));
  EXPECT_EQ(memory.peak_bytes(), 0);
  EXPECT_EQ(memory.limit(), std::nullopt);
  ASSERT_EQ(memory.warnings().size(), 1u);
  EXPECT_THAT(memory.warnings()[0], HasSubstr("lost"));
}

}  // namespace
}  // namespace autobatch
