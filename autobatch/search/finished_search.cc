#include "autobatch/search/finished_search.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"

namespace autobatch {

Search Finish(const SearchOptions& options, FakeCurve& curve) {
  Search search = *Search::Create(options);
  int trials = 0;
  while (const std::optional<TrialSpec> trial = search.NextTrial()) {
    search.Observe(curve.Run(*trial));
    if (++trials > 100) {
      ADD_FAILURE() << "the search does not end";
      break;
    }
  }
  const SearchOutcome& outcome = search.outcome();
  EXPECT_EQ(outcome.confirmed_batch.has_value(), outcome.confirming_observation.has_value());
  if (outcome.confirmed_batch.has_value()) {
    const Observation& confirming = search.observations().at(*outcome.confirming_observation);
    EXPECT_TRUE(confirming.ok());
    EXPECT_EQ(confirming.trial.batch, *outcome.confirmed_batch);
    EXPECT_TRUE(confirming.trial.fresh_process);
    EXPECT_GE(confirming.trial.steps, 8);
    EXPECT_LE(confirming.PeakReserved(), outcome.budget_bytes.value_or(INT64_MAX));
  } else {
    EXPECT_EQ(outcome.status, ResultStatus::kFailed);
    EXPECT_TRUE(outcome.failure.has_value());
  }
  return search;
}

Search Finish(const SearchOptions& options, FakeCurve::Options curve) {
  FakeCurve fake(std::move(curve));
  return Finish(options, fake);
}

std::string Warnings(const Search& search) {
  return absl::StrJoin(search.outcome().warnings, "\n");
}

}  // namespace autobatch
