#ifndef AUTOBATCH_SEARCH_SEARCH_H_
#define AUTOBATCH_SEARCH_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/memory/budget.h"
#include "autobatch/memory/envelope.h"
#include "autobatch/search/batch_rule.h"
#include "autobatch/search/bracket.h"
#include "autobatch/search/pace.h"
#include "autobatch/search/search_options.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"

namespace autobatch {

struct SearchOutcome {
  ResultStatus status = ResultStatus::kFailed;
  std::optional<int64_t> confirmed_batch;
  BatchBound bound = BatchBound::kNone;
  // Bytes that the workload may reserve, as the confirming trial (or else the last one) saw them.
  std::optional<int64_t> budget_bytes;
  std::vector<Margin> margins;
  std::optional<FitSummary> fit;
  // Why there is no answer, or why it is partial.
  std::optional<Failure> failure;
  std::optional<int64_t> smallest_failing_batch;
  // Index of the trial that stands for `confirmed_batch` in observations().
  std::optional<size_t> confirming_observation;
  // Batch * accumulation * steps over all trials; of a failed trial the steps up to its failure.
  int64_t samples_stepped = 0;
  std::vector<std::string> warnings;
};

// Finds the largest batch that runs under the budget, as a state machine: it says which trial is
// next and is told what came of it. It never answers with a batch that has not run its full steps
// in a fresh process. A value: no thread, clock or I/O.
//
//   AB_ASSIGN_OR_RETURN(Search search, Search::Create(options));
//   while (std::optional<TrialSpec> trial = search.NextTrial()) {
//     search.Observe(Run(*trial));
//     search.SetTimeLeft(deadline - now);  // Where there is a deadline.
//   }
//   Use(search.outcome());
class Search {
 public:
  // InvalidArgument: sizes or fractions that make no sense, rules that contradict each other, no
  // batch that obeys them up to `max_batch`, and whatever BudgetModel::Create refuses.
  static absl::StatusOr<Search> Create(SearchOptions options);

  // The trial to run; nullopt: the search is over. Does not change until Observe, SetTimeLeft or
  // Stop.
  std::optional<TrialSpec> NextTrial() const { return next_; }

  // What came of the last NextTrial(). Not to be called when the search is over.
  void Observe(Observation observation);

  // How much time is left for everything that is still to come. The search then starts no trial
  // that it expects to outlast it, and keeps enough of it to confirm what it has found. When it is
  // the time that bounds the answer, the outcome is kPartial. Call it before the first trial and
  // after each.
  void SetTimeLeft(absl::Duration time_left);

  // How long the next trial may run before it is to be ended as timed out; infinite without
  // SetTimeLeft. What it leaves is for confirming what has run so far.
  absl::Duration TimeForNext() const;

  // Ends the search from outside (time, Ctrl-C): kPartial with what was confirmed, else kFailed.
  void Stop(Failure why);

  const SearchOutcome& outcome() const { return outcome_; }
  const std::vector<Observation>& observations() const { return observations_; }

 private:
  // A batch to try next; 0: nothing is worth trying.
  struct Choice {
    TrialPurpose purpose = TrialPurpose::kExplore;
    int64_t batch = 0;
  };

  Search(SearchOptions options, BatchRule rule, BudgetModel budget);

  // An allocator that has not come to rest gets this many times the confirming steps at most.
  static constexpr int64_t kMaxStepsFactor = 4;

  // A batch that ran its full steps in a fresh process.
  struct Candidate {
    Bracket::Ran ran;
    size_t index = 0;
    std::optional<int64_t> room_bytes;
  };

  // What an observation means (search.cc).
  void TakeSuccess(const Observation& observation);
  // Where the trial before failed at the batch that has run now.
  void WarnOfChance();
  // A candidate that ran within its budget: it is confirmed, or what it lacks comes next.
  void TakeCandidate(const Observation& observation);
  void Confirm(const Candidate& candidate);
  // Confirms what ran and lacks nothing, or asks for a look below it first.
  void Accept(const Candidate& candidate);
  // The same of what is unsettled, nothing further having told.
  void AcceptUnsettled();
  void WarnOfGrowth(const Observation& observation);
  void TakeFailure(const Observation& observation, const Failure& failure);
  // The batch is too large, for memory or for something else (search_ceiling.cc).
  void TakeCeiling(const Observation& observation, const Failure& failure);
  bool RetryOnce(const Observation& observation);
  void Fail(Failure failure);
  // Whether the confirmed batch still is within the budget, now that a later trial was observed.
  void RecheckConfirmed();
  // By the latest margins, and the reading of the device of the latest or of the confirming trial.
  std::optional<int64_t> BudgetBytes() const { return LessReserve(room_bytes_); }
  std::optional<int64_t> ConfirmedBudgetBytes() const { return LessReserve(confirmed_room_bytes_); }
  std::optional<int64_t> LessReserve(std::optional<int64_t> bytes) const;

  // What is next (search_plan.cc).
  void Plan();
  Choice Choose() const;
  // The largest batch that may fit, as far as is known; INT64_MAX: nothing speaks against any.
  int64_t Guess(const Bracket::Ran& largest) const;
  // Up to here what the largest that ran left of the budget goes; INT64_MAX: too far to tell.
  int64_t NearbyGuess(const Bracket::Ran& largest) const;
  // Times the largest batch that ran, up to which the next trial may go.
  int64_t Growth(const Bracket::Ran& largest) const;
  // Samples by which an answer may fall short.
  int64_t Width(int64_t batch) const;
  // The smallest batch that falls no further short of `batch`.
  int64_t ShortOf(int64_t batch) const;
  // Whether `batch`, above the confirmed one, may fit.
  bool WorthTrying(int64_t batch) const;
  // Whether the fit is good enough to confirm `batch` without exploring it first.
  bool SureOf(int64_t batch) const;
  // The allowed batch after which throughput hardly grows; 0: not found, or not asked for.
  int64_t KneeBatch() const;
  // Proposes it, or the most for which time is left.
  void FitIntoTime(Choice choice);
  absl::Duration Fallback(int64_t batch) const;
  // Whether it can be expected to end in time, `spent` being gone since the last SetTimeLeft.
  bool IsTimeFor(const TrialSpec& trial, absl::Duration spent) const;
  int64_t MostInTime(const TrialSpec& confirm) const;
  TrialSpec Spec(TrialPurpose purpose, int64_t batch) const;
  void Propose(TrialPurpose purpose, int64_t batch);
  BatchBound Bound(int64_t confirmed) const;
  void Finish();

  SearchOptions options_;
  BatchRule rule_;
  BudgetModel budget_;
  Bracket bracket_;
  Pace pace_;
  std::optional<EnvelopeFit> fit_;
  // The latest reading of what may be reserved, before margins.
  std::optional<int64_t> room_bytes_;
  std::optional<int64_t> confirmed_room_bytes_;
  std::optional<absl::Duration> time_left_;
  std::optional<TrialSpec> next_;
  // The same batch once more: a retry, more steps, or a smaller budget.
  std::optional<TrialSpec> again_;
  std::optional<int64_t> retried_batch_;
  // What failed again when it was tried again: from then on it is believed at once.
  std::optional<FailureKind> believed_;
  // Laboured: it is confirmed once the one a little below it has run.
  std::optional<Candidate> laboured_;
  // Memory still grew: more steps of the same batch are to tell whether that was noise.
  std::optional<Candidate> unsettled_;
  bool reconfirmed_ = false;
  // The fit was sure of the last batch that failed, and nothing has run since the first failure.
  bool broken_promise_ = false;
  std::optional<size_t> ceiling_warning_;  // Which of the outcome's warnings tells of one.
  // A failed trial may leave its process damaged.
  bool fresh_from_now_ = false;
  int64_t first_batch_;
  // A model error at batch 1, while 2 is tried.
  std::optional<Failure> first_failure_;
  bool verify_ = false;
  bool verified_ = false;
  // Why it ended without an answer, or before it was sure of it.
  std::optional<Failure> stopped_;
  bool over_ = false;
  SearchOutcome outcome_;
  std::vector<Observation> observations_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_SEARCH_H_
