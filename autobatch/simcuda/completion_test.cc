#include "autobatch/simcuda/completion.h"

#include <thread>

#include "gtest/gtest.h"

namespace autobatch::simcuda {
namespace {

TEST(Completion, Finished_RunsWhatFollowsOnce) {
  Completion completion;
  int runs = 0;
  completion.Then([&runs] { ++runs; });
  EXPECT_EQ(runs, 0);
  completion.Finish();
  completion.Finish();
  EXPECT_EQ(runs, 1);
  completion.Then([&runs] { ++runs; });
  EXPECT_EQ(runs, 2);
}

TEST(Completion, WaitedFor_ReturnsWhenAnotherThreadFinishes) {
  Completion completion;
  std::thread other([&completion] { completion.Finish(); });
  completion.Wait();
  EXPECT_TRUE(completion.done());
  other.join();
}

TEST(Both, OfTwo_IsDoneWithTheLaterOne) {
  const auto a = std::make_shared<Completion>();
  const auto b = std::make_shared<Completion>();
  const Pending both = Both(a, b);
  b->Finish();
  EXPECT_FALSE(both->done());
  a->Finish();
  EXPECT_TRUE(both->done());
}

TEST(Both, OfOneThatIsPending_IsThatOne) {
  const auto a = std::make_shared<Completion>();
  const auto done = std::make_shared<Completion>();
  done->Finish();
  EXPECT_EQ(Both(a, nullptr), a);
  EXPECT_EQ(Both(done, a), a);
  EXPECT_EQ(Both(a, a), a);
  EXPECT_EQ(Both(done, nullptr), nullptr);
}

}  // namespace
}  // namespace autobatch::simcuda
