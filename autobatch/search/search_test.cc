#include "autobatch/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/finished_search.h"
#include "autobatch/search/usual_curve.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Failure Of(FailureKind kind) {
  return {.kind = kind, .message = absl::StrCat("made up: ", EnumName(kind)), .step = 2};
}

// Of what the line asks for, 85 % is allocations and the rest the allocator's cache, which it gives
// back at the limit if it can.
void HoldCache(Observation& observation, int64_t bytes, bool gives_back) {
  const auto allocated = static_cast<int64_t>(0.85 * static_cast<double>(bytes));
  if (!observation.ok()) {
    if (!gives_back || allocated > *observation.budget_bytes) return;
    observation.failure.reset();
    for (int64_t step = 1; step <= observation.trial.steps; ++step) {
      observation.steps.push_back({.step = step, .step_ms = 1});
    }
  }
  const MemoryPeak peak{std::min(bytes, *observation.budget_bytes), allocated};
  for (StepObservation& step : observation.steps) step.peak = peak;
  observation.first_step = observation.steady = peak;
}

FakeCurve::Options LineWithCache(bool gives_back) {
  FakeCurve::Options curve = Line();
  curve.meddle = [gives_back](Observation& observation, int64_t) {
    HoldCache(observation, kGiB + 100 * kMiB * observation.trial.batch, gives_back);
  };
  return curve;
}

TEST(SearchTest, StraightLine_ConfirmsTheLargestAndSaysWhy) {
  FakeCurve curve(Line());
  const Search search = Finish(Plain(), curve);
  const SearchOutcome& outcome = search.outcome();
  EXPECT_EQ(outcome.status, ResultStatus::kConfirmed);
  EXPECT_EQ(outcome.confirmed_batch, kFits);
  EXPECT_EQ(outcome.bound, BatchBound::kMemory);
  EXPECT_EQ(outcome.budget_bytes, 8 * kGiB);
  EXPECT_FALSE(outcome.failure.has_value());
  ASSERT_TRUE(outcome.fit.has_value());
  EXPECT_NEAR(outcome.fit->slope_bytes_per_sample, 100 * kMiB, kMiB);
  EXPECT_THAT(curve.batches(), ElementsAre(1, 4, 16, 34, 71));
  EXPECT_EQ(outcome.samples_stepped, 3 * (1 + 4 + 16 + 34) + 8 * 71);
  EXPECT_TRUE(outcome.warnings.empty());
  EXPECT_EQ(outcome.margins.size(), 6u);
}

TEST(SearchTest, CacheThatIsGivenBack_IsNotTakenForNeed) {
  const Search search = Finish(Plain(), LineWithCache(/*gives_back=*/true));
  // Allocations alone would allow 86.
  EXPECT_GE(search.outcome().confirmed_batch, 83);
  EXPECT_LE(search.outcome().confirmed_batch, 86);
  EXPECT_LE(search.observations().size(), 6u);
}

TEST(SearchTest, CacheThatIsNeeded_CostsFailuresAndNotTheAnswer) {
  const Search search = Finish(Plain(), LineWithCache(/*gives_back=*/false));
  EXPECT_GE(search.outcome().confirmed_batch, kFits - 2);
  EXPECT_LE(search.outcome().confirmed_batch, kFits);
  EXPECT_LE(search.observations().size(), 12u);
}

TEST(SearchTest, EveryTrial_CarriesWhatTheConfirmingOneCarries) {
  SearchOptions options = Plain();
  options.accumulation = 2;
  options.gradient_buckets = true;
  options.budget.world_size = 2;
  options.budget.headroom_bytes = kGiB;
  options.budget.memory_limit_bytes = 7 * kGiB;
  options.evaluation_batch = 5;
  options.seed = 9;
  const Search search = Finish(options, Line());
  for (const Observation& observation : search.observations()) {
    EXPECT_EQ(observation.trial.accumulation, 2);
    EXPECT_TRUE(observation.trial.gradient_buckets);
    EXPECT_EQ(observation.trial.evaluation_batch, 5);
    EXPECT_EQ(observation.trial.seed, 9);
    EXPECT_EQ(observation.trial.reserve_bytes, kGiB);
    EXPECT_EQ(observation.trial.limit_bytes, 6 * kGiB);
    const bool confirm = observation.trial.purpose == TrialPurpose::kConfirm;
    EXPECT_EQ(observation.trial.fresh_process, confirm);
    EXPECT_EQ(observation.trial.steps, confirm ? 8 : 3);
  }
  EXPECT_EQ(search.outcome().confirmed_batch, 51);
}

TEST(SearchTest, EvaluationBatchAbsent_IsTheTrialsOwn) {
  Search search = *Search::Create(Plain());
  EXPECT_EQ(search.NextTrial()->evaluation_batch, search.NextTrial()->batch);
}

// Every kind of failure in every state of the search.
enum class State {
  kFirst,       // Batch 1, always.
  kExploring,   // From batch 16 on, always.
  kConfirming,  // Any confirming trial from batch 40 on, always.
  kVerifying,   // The verification of a cached answer, always.
  kOnce,        // The trial of batch 16, the first time only.
};

struct Row {
  FailureKind kind;
  State state;
  ResultStatus status;
  // Least and greatest answer.
  int64_t at_least = 0;
  int64_t at_most = 0;
  BatchBound bound = BatchBound::kMemory;
};

class SearchFailureTest : public testing::TestWithParam<Row> {};

TEST_P(SearchFailureTest, EveryKindInEveryState_EndsAsItShould) {
  const Row& row = GetParam();
  FakeCurve::Options curve = Line();
  curve.meddle = [&](Observation& observation, int64_t nth) {
    const TrialSpec& trial = observation.trial;
    const bool hit = row.state == State::kFirst       ? trial.batch == 1
                     : row.state == State::kExploring ? trial.batch >= 16
                     : row.state == State::kVerifying ? trial.purpose == TrialPurpose::kVerify
                     : row.state == State::kConfirming
                         ? trial.purpose == TrialPurpose::kConfirm && trial.batch >= 40
                         : trial.batch == 16 && nth == 1;
    if (hit) observation.failure = Of(row.kind);
  };
  SearchOptions options = Plain();
  if (row.state == State::kVerifying) options.cached_batch = 60;
  const Search search = Finish(options, curve);
  const SearchOutcome& outcome = search.outcome();
  EXPECT_EQ(outcome.status, row.status) << Warnings(search);
  const int64_t answer = outcome.confirmed_batch.value_or(0);
  EXPECT_GE(answer, row.at_least) << Warnings(search);
  EXPECT_LE(answer, row.at_most) << Warnings(search);
  if (outcome.confirmed_batch.has_value()) EXPECT_EQ(outcome.bound, row.bound);
  if (row.status == ResultStatus::kFailed) {
    // Suspected is settled by then: what remains is that nothing fits.
    const FailureKind expected = IsMemoryCeiling(row.kind) ? FailureKind::kOutOfMemory : row.kind;
    EXPECT_EQ(outcome.failure->kind, expected);
    EXPECT_THAT(outcome.failure->message, HasSubstr("made up"));
  }
  if (row.state == State::kOnce && row.status == ResultStatus::kConfirmed) {
    EXPECT_THAT(Warnings(search), HasSubstr("a batch of 16 failed once"));
  }
  // Whatever fails: from then on no trial shares a process with it.
  bool failed = false;
  for (const Observation& observation : search.observations()) {
    if (failed) EXPECT_TRUE(observation.trial.fresh_process);
    failed = failed || !observation.ok();
  }
}

std::vector<Row> Rows() {
  using enum FailureKind;
  using enum ResultStatus;
  std::vector<Row> rows;
  for (const FailureKind kind : {kOutOfMemory, kSuspectedOutOfMemory}) {
    rows.push_back({kind, State::kFirst, kFailed});
    rows.push_back({kind, State::kExploring, kConfirmed, 15, 15});
    rows.push_back({kind, State::kConfirming, kConfirmed, 38, 39});
    rows.push_back({kind, State::kVerifying, kConfirmed, 58, 59});
  }
  rows.push_back({kSuspectedOutOfMemory, State::kOnce, kConfirmed, kFits, kFits});
  rows.push_back({kCrashed, State::kOnce, kConfirmed, kFits, kFits});
  // A smaller batch can be expected to run, and the answer says that it was not memory.
  for (const FailureKind kind :
       {kModelError, kIllegalAccess, kNonFiniteLoss, kHostOutOfMemory, kCrashed}) {
    if (kind != kModelError) rows.push_back({kind, State::kFirst, kFailed});
    rows.push_back({kind, State::kExploring, kConfirmed, 15, 15, BatchBound::kFailure});
    rows.push_back({kind, State::kConfirming, kConfirmed, 38, 39, BatchBound::kFailure});
    rows.push_back({kind, State::kVerifying, kConfirmed, kFits, kFits});
  }
  rows.push_back({kTimeout, State::kFirst, kFailed});
  rows.push_back({kTimeout, State::kExploring, kConfirmed, 15, 15, BatchBound::kTimeLimit});
  rows.push_back({kTimeout, State::kConfirming, kConfirmed, 38, 39, BatchBound::kTimeLimit});
  // Batch norm of one sample: 2 is tried, and the search goes on.
  rows.push_back({kModelError, State::kFirst, kConfirmed, kFits, kFits});
  // These say nothing about the batch: once is chance (where it can be), twice is the end.
  for (const FailureKind kind : {kCannotStart, kProtocol, kBatchIgnored}) {
    rows.push_back({kind, State::kFirst, kFailed});
    rows.push_back({kind, State::kExploring, kFailed});
    rows.push_back({kind, State::kConfirming, kFailed});
    rows.push_back({kind, State::kVerifying, kConfirmed, kFits, kFits});
    if (kind != kBatchIgnored) rows.push_back({kind, State::kOnce, kConfirmed, kFits, kFits});
  }
  for (const State state :
       {State::kFirst, State::kExploring, State::kConfirming, State::kVerifying, State::kOnce}) {
    rows.push_back({kCancelled, state, kFailed});
  }
  return rows;
}

constexpr const char* kStates[] = {"First", "Exploring", "Confirming", "Verifying", "Once"};

std::string RowName(const testing::TestParamInfo<Row>& info) {
  std::string name = EnumName(info.param.kind);
  std::erase(name, '_');
  return name + kStates[static_cast<int>(info.param.state)];
}

INSTANTIATE_TEST_SUITE_P(AllKinds, SearchFailureTest, testing::ValuesIn(Rows()), RowName);

}  // namespace
}  // namespace autobatch
