#include "autobatch/trial/rank_transcripts.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TrialSpec kAsked = {.batch = 8, .steps = 2};

// Lines of one rank; of a command of one process when `world_size` is 1.
class Rank {
 public:
  Rank(int64_t rank, int64_t world_size) : rank_(rank), world_size_(world_size) {}

  std::string Hello(autobatch::Hello hello = {}) const {
    return Line({.type = ReplyType::kHello, .hello = std::move(hello)});
  }
  std::string Step(int64_t step, int64_t bytes) const {
    return Line({.type = ReplyType::kStep,
                 .step = StepObservation{.step = step, .peak = {.reserved_bytes = bytes}}});
  }
  // With the device that it has found by then, if it says so once more.
  std::string Result(Observation seen, std::optional<autobatch::Hello> device = {}) const {
    return Line(
        {.type = ReplyType::kResult, .hello = std::move(device), .result = std::move(seen)});
  }
  // A whole good trial.
  std::string Good(int64_t bytes, std::optional<autobatch::Hello> device = {}) const {
    return Hello() + Step(1, bytes) + Step(2, bytes) +
           Result({.steady = MemoryPeak{.reserved_bytes = bytes}, .batch_seen = 8},
                  std::move(device));
  }

 private:
  std::string Line(Reply reply) const {
    if (world_size_ > 1) {
      reply.rank = rank_;
      reply.world_size = world_size_;
    }
    return ToJson(reply) + "\n";
  }

  int64_t rank_;
  int64_t world_size_;
};

Observation Failed(const std::string& message) {
  return {.failure = Failure{.kind = FailureKind::kModelError, .message = message}};
}

TEST(RankTranscriptsTest, OneProcess_IsItself) {
  RankTranscripts ranks(kAsked, {""});
  EXPECT_FALSE(ranks.hello().has_value());
  EXPECT_TRUE(ranks.steps().empty());
  ASSERT_TRUE(ranks.Append(Rank(0, 1).Good(100), {}).ok());
  EXPECT_TRUE(ranks.hello().has_value());
  ASSERT_TRUE(ranks.result().has_value());
  EXPECT_TRUE(ranks.result()->ok());
  EXPECT_EQ(ranks.result()->PeakReserved(), 100);
}

TEST(RankTranscriptsTest, OneProcessFails_MessageIsItsOwn) {
  RankTranscripts ranks(kAsked, {""});
  ASSERT_TRUE(ranks.Append(Rank(0, 1).Hello() + Rank(0, 1).Result(Failed("shapes")), {}).ok());
  EXPECT_EQ(ranks.result()->failure->message, "shapes");
}

TEST(RankTranscriptsTest, SeveralRanks_PeaksAddUp) {
  RankTranscripts ranks(kAsked, {""});
  ASSERT_TRUE(ranks.Append(Rank(1, 3).Good(100) + Rank(0, 3).Good(300), {}).ok());
  EXPECT_FALSE(ranks.result().has_value());
  ASSERT_TRUE(ranks.Append(Rank(2, 3).Good(50), {}).ok());
  ASSERT_TRUE(ranks.result().has_value());
  EXPECT_TRUE(ranks.result()->ok());
  EXPECT_EQ(ranks.result()->PeakReserved(), 450);
  EXPECT_EQ(ranks.result()->steps[1].peak.reserved_bytes, 450);
  EXPECT_THAT(ranks.result()->warnings, ElementsAre());
}

TEST(RankTranscriptsTest, LinesBetweenEachOtherInAnyPieces_AreTold) {
  const Rank one(0, 2);
  const Rank other(1, 2);
  const std::string text = one.Hello() + other.Hello() + other.Step(1, 5) + one.Step(1, 7) +
                           other.Step(2, 5) + other.Result({.batch_seen = 8}) + one.Step(2, 7) +
                           one.Result({.batch_seen = 8});
  for (size_t size = 1; size < 200; ++size) {
    RankTranscripts ranks(kAsked, {""});
    std::vector<int64_t> told;
    for (size_t at = 0; at < text.size(); at += size) {
      ASSERT_TRUE(ranks
                      .Append(text.substr(at, size),
                              [&](const Reply& reply) { told.push_back(reply.step->step); })
                      .ok());
    }
    EXPECT_THAT(told, ElementsAre(1, 2));
    ASSERT_TRUE(ranks.result().has_value());
    EXPECT_EQ(ranks.result()->PeakReserved(), 12);
  }
}

TEST(RankTranscriptsTest, OneRankFails_DecidesAtOnceAndIsNamed) {
  RankTranscripts ranks(kAsked, {""});
  const Rank bad(1, 2);
  ASSERT_TRUE(
      ranks.Append(Rank(0, 2).Hello() + bad.Hello() + bad.Result(Failed("shapes")), {}).ok());
  ASSERT_TRUE(ranks.result().has_value());
  EXPECT_EQ(ranks.result()->failure->message, "rank 1: shapes");
}

TEST(RankTranscriptsTest, StepsOfUnequalRanks_AreThoseOfTheSlowest) {
  RankTranscripts ranks(kAsked, {""});
  const Rank slow(1, 2);
  ASSERT_TRUE(ranks.Append(Rank(0, 2).Good(10) + slow.Hello() + slow.Step(1, 10), {}).ok());
  EXPECT_EQ(ranks.steps().size(), 1u);
  ranks.End();
  EXPECT_FALSE(ranks.result().has_value());
}

TEST(RankTranscriptsTest, OneRankSawAnotherBatch_ThatIsSeen) {
  RankTranscripts ranks(kAsked, {""});
  const Rank odd(0, 2);
  ASSERT_TRUE(ranks
                  .Append(odd.Hello() + odd.Step(1, 1) + odd.Step(2, 1) +
                              odd.Result({.batch_seen = 4}) + Rank(1, 2).Good(10),
                          {})
                  .ok());
  EXPECT_EQ(ranks.result()->batch_seen, 4);
}

TEST(RankTranscriptsTest, RanksTogetherAboveTheBudget_IsOutOfMemory) {
  RankTranscripts ranks(kAsked, {""});
  for (int64_t rank : {0, 1}) {
    const Rank one(rank, 2);
    ASSERT_TRUE(ranks
                    .Append(one.Hello() + one.Result({.steady = MemoryPeak{.reserved_bytes = 60},
                                                      .budget_bytes = 100}),
                            {})
                    .ok());
  }
  ASSERT_FALSE(ranks.result()->ok());
  EXPECT_EQ(ranks.result()->failure->kind, FailureKind::kOutOfMemory);
}

TEST(RankTranscriptsTest, RankNeverSpeaks_EndGivesWhatThereIsWithAWarning) {
  RankTranscripts ranks(kAsked, {""});
  ASSERT_TRUE(ranks.Append(Rank(0, 2).Good(10), {}).ok());
  EXPECT_FALSE(ranks.result().has_value());
  ranks.End();
  ASSERT_TRUE(ranks.result().has_value());
  EXPECT_THAT(ranks.result()->warnings,
              ElementsAre(HasSubstr("only 1 of 2 ranks reported (not 1)")));
}

TEST(RankTranscriptsTest, RanksOnDevicesOfTheirOwn_AreNotAddedUp) {
  // One names its device by UUID, in the other case; one by its number; the others stand as
  // launchers place them.
  const autobatch::Hello by_uuid{.device_uuid = "gpu-b"};
  const autobatch::Hello by_number{.device_index = 0};
  RankTranscripts ranks(kAsked, {"GPU-A", "GPU-B"});
  ASSERT_TRUE(ranks
                  .Append(Rank(0, 4).Good(100, by_uuid) + Rank(1, 4).Good(20, by_number) +
                              Rank(2, 4).Good(3) + Rank(3, 4).Good(400),
                          {})
                  .ok());
  ASSERT_TRUE(ranks.done());
  EXPECT_EQ(ranks.result(0)->PeakReserved(), 23);
  EXPECT_EQ(ranks.result(0)->ranks, 2);
  EXPECT_EQ(ranks.result(1)->PeakReserved(), 500);
}

TEST(RankTranscriptsTest, RankThatFoundItsDeviceLater_IsWhereItSaysInItsResult) {
  const autobatch::Hello first{.device_uuid = "GPU-A"};
  const autobatch::Hello then{.device_uuid = "GPU-B"};
  RankTranscripts ranks(kAsked, {"GPU-A", "GPU-B"});
  const Rank one(0, 1);
  ASSERT_TRUE(ranks.Append(one.Hello(first) + one.Result({.batch_seen = 8}, then), {}).ok());
  EXPECT_FALSE(ranks.result(0).has_value());
  EXPECT_TRUE(ranks.result(1).has_value());
}

TEST(RankTranscriptsTest, FailureOnOneOfTwoDevices_IsThatDevices) {
  RankTranscripts ranks(kAsked, {"GPU-A", "GPU-B"});
  const Rank bad(1, 2);
  ASSERT_TRUE(ranks.Append(Rank(0, 2).Good(5) + bad.Hello() + bad.Result(Failed("x")), {}).ok());
  EXPECT_EQ(ranks.failed(), 1u);
  EXPECT_FALSE(ranks.result(0).has_value());
  EXPECT_EQ(ranks.result(1)->failure->message, "rank 1: x");
}

TEST(RankTranscriptsTest, SilentRank_LeavesItsDeviceWithoutAResult) {
  RankTranscripts ranks(kAsked, {"GPU-A", "GPU-B"});
  ASSERT_TRUE(ranks.Append(Rank(0, 2).Good(5), {}).ok());
  EXPECT_FALSE(ranks.done());
  ranks.End();
  EXPECT_TRUE(ranks.done());
  EXPECT_TRUE(ranks.result(0).has_value());
  EXPECT_FALSE(ranks.result(1).has_value());
  EXPECT_EQ(ranks.spoke(), 1);
}

TEST(RankTranscriptsTest, NobodySpoke_EndGivesNothing) {
  RankTranscripts ranks(kAsked, {""});
  ranks.End();
  EXPECT_FALSE(ranks.result().has_value());
}

TEST(RankTranscriptsTest, PeaksPastTheType_AreItsGreatest) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  RankTranscripts ranks(kAsked, {""});
  ASSERT_TRUE(ranks.Append(Rank(0, 2).Good(kMost) + Rank(1, 2).Good(kMost), {}).ok());
  EXPECT_EQ(ranks.result()->PeakReserved(), kMost);
}

TEST(RankTranscriptsTest, WrongRanks_AreErrors) {
  const struct {
    std::string text;
    std::string words;
  } cases[] = {
      {Rank(2, 2).Hello(), "rank 2 of 2"},
      {Rank(-1, 2).Hello(), "rank -1 of 2"},
      {Rank(0, 2).Hello() + Rank(1, 3).Hello(), "rank 1 speaks of 3 ranks, another of 2"},
      {Rank(1, 2).Hello() + Rank(1, 2).Hello(), "rank 1: a second hello"},
      {Rank(0, 1).Hello() + Rank(0, 1).Hello(), "a second hello"},
      {"{\"type\":\"goodbye\"}\n", "goodbye"},
      {Rank(1, 2).Hello({.device_uuid = "GPU-C"}),
       "rank 1: it runs on GPU-C, which is not of this"},
  };
  for (const auto& c : cases) {
    RankTranscripts ranks(kAsked, {"GPU-A", "GPU-B"});
    EXPECT_THAT(std::string(ranks.Append(c.text, {}).message()), HasSubstr(c.words));
  }
}

}  // namespace
}  // namespace autobatch
