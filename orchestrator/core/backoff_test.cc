#include "orchestrator/core/backoff.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace autobatch {
namespace {

TEST(BackoffTest, Delays_DoubleUpToTheLastAndAreSpreadByHalf) {
  Backoff backoff(absl::Milliseconds(100), absl::Seconds(1), "a");
  absl::Duration base = absl::Milliseconds(100);
  for (int i = 0; i < 20; ++i) {
    const absl::Duration delay = backoff.Next();
    EXPECT_GE(delay, base);
    EXPECT_LE(delay, base * 1.5);
    base = std::min(base * 2, absl::Duration(absl::Seconds(1)));
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(150));
}

TEST(BackoffTest, Agents_ComeBackApart) {
  std::set<absl::Duration> delays;
  for (int i = 0; i < 1000; ++i) {
    delays.insert(Backoff(absl::Seconds(1), absl::Seconds(1), "node-" + std::to_string(i)).Next());
  }
  EXPECT_GT(delays.size(), 500u);
}

TEST(BackoffTest, SameAgent_IsReproducible) {
  EXPECT_EQ(Backoff(absl::Seconds(1), absl::Seconds(1), "a").Next(),
            Backoff(absl::Seconds(1), absl::Seconds(1), "a").Next());
}

}  // namespace
}  // namespace autobatch
