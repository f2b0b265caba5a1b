#include "orchestrator/launch/signal_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

namespace autobatch {
namespace {

using ::testing::ElementsAre;

// Collects signals; lets a test wait for so many.
class Collector {
 public:
  void Add(int signal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    signals_.push_back(signal);
    changed_.notify_all();
  }
  std::vector<int> WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return signals_.size() >= count; });
    return signals_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> signals_;
};

TEST(SignalRelay_Signals, ReachTheHandler) {
  SignalRelay relay;
  Collector collector;
  relay.SetHandler([&](int signal) { collector.Add(signal); });
  kill(getpid(), SIGUSR1);
  EXPECT_THAT(collector.WaitFor(1), ElementsAre(SIGUSR1));
  EXPECT_EQ(relay.ending(), 0);
  kill(getpid(), SIGTERM);
  EXPECT_THAT(collector.WaitFor(2), ElementsAre(SIGUSR1, SIGTERM));
  EXPECT_EQ(relay.ending(), SIGTERM);
}

TEST(SignalRelay_WithoutHandler, KeepsThem) {
  SignalRelay relay;
  Collector first;
  relay.SetHandler([&](int signal) { first.Add(signal); });
  relay.SetHandler(nullptr);
  kill(getpid(), SIGINT);
  Collector second;
  while (relay.ending() == 0) {
  }
  relay.SetHandler([&](int signal) { second.Add(signal); });
  EXPECT_THAT(second.WaitFor(1), ElementsAre(SIGINT));
}

}  // namespace
}  // namespace autobatch
