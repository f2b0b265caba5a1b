#include "tests/sim/chaos.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

namespace autobatch::sim {
namespace {

constexpr uint64_t kFirstSeed = 1;
// Sanitizers are up to twenty times slower, and look for something else.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kSeeds = 20;
constexpr uint64_t kSabotaged = 20;
#else
constexpr uint64_t kSeeds = 300;
constexpr uint64_t kSabotaged = 40;
#endif

TEST(ChaosTest, Cluster_WhateverHappens_KeepsItsPromises) {
  int64_t commits = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    const ChaosOutcome outcome = RunChaos(seed);
    commits += outcome.commits;
    if (outcome.violations.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << outcome.violations.front()
                  << "\nreplay: ./bazelw run //tests/sim:cluster -- --first-seed " << seed
                  << " --log";
  }
  std::printf("seeds %lu to %lu: %lld rounds committed\n", static_cast<unsigned long>(kFirstSeed),
              static_cast<unsigned long>(kFirstSeed + kSeeds - 1), static_cast<long long>(commits));
  EXPECT_GT(commits, static_cast<int64_t>(kSeeds));
}

TEST(ChaosTest, SameSeed_HappensTheSameWay) { EXPECT_EQ(RunChaos(7).log, RunChaos(7).log); }

// A simulation that sees nothing when a protection is missing proves nothing when it is there.
void ExpectNoticed(Sabotage sabotage) {
  int noticed = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSabotaged; ++seed) {
    noticed += RunChaos(seed, sabotage).violations.empty() ? 0 : 1;
  }
  EXPECT_GT(noticed, 0);
  std::printf("noticed by %d of %lu seeds\n", noticed, static_cast<unsigned long>(kSabotaged));
}

TEST(ChaosTest, WithoutFencing_SeedsFail) { ExpectNoticed(Sabotage::kFencing); }
TEST(ChaosTest, WithoutTheCommit_SeedsFail) { ExpectNoticed(Sabotage::kCommit); }
TEST(ChaosTest, WithoutTheLease_SeedsFail) { ExpectNoticed(Sabotage::kLease); }
TEST(ChaosTest, WithoutAuthentication_SeedsFail) { ExpectNoticed(Sabotage::kAuthentication); }

}  // namespace
}  // namespace autobatch::sim
