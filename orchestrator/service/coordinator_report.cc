#include "orchestrator/service/coordinator_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/types/json.h"
#include "orchestrator/plan/plan_row.h"

namespace autobatch {
namespace {

constexpr size_t kMostRounds = 100;

}  // namespace

void AddRound(CoordinatorReport& report, const coordinator::RoundEnded& ended) {
  RoundReport round{.round = ended.round,
                    .committed = ended.committed,
                    .reason = ended.reason,
                    .missing = ended.missing,
                    .digest = ended.digest,
                    .nodes = ended.nodes};
  if (ended.record != nullptr) {
    // Of our own making: it reads back.
    if (absl::StatusOr<Record> record = FromJson<Record>(*ended.record); record.ok()) {
      round.record = *std::move(record);
    }
  }
  if (absl::StatusOr<StragglerReport> straggler = FindStraggler(ended.nodes); straggler.ok()) {
    round.straggler = *std::move(straggler);
  }
  report.rounds.push_back(std::move(round));
  if (report.rounds.size() > kMostRounds) report.rounds.erase(report.rounds.begin());
}

void AddConfirmation(CoordinatorReport& report, const coordinator::CommitConfirmed& confirmed) {
  for (RoundReport& round : report.rounds) {
    if (round.round != confirmed.round) continue;
    round.confirmed = confirmed.confirmed;
    round.unconfirmed = confirmed.missing;
  }
}

std::string CommitText(const RoundReport& round) {
  std::string text;
  if (round.record.has_value()) {
    const Record& record = *round.record;
    absl::StrAppend(&text, "batch ", FormatCount(record.minimum_batch), " on each of ",
                    Counted(record.world_size, "rank"));
    const absl::StatusOr<PlanRow> row =
        RowFor(record.plan, record.world_size * record.request.model_parallel_size);
    if (row.ok()) {
      absl::StrAppend(&text, ", global batch ", FormatCount(row->global_batch), ", accumulation ",
                      FormatCount(row->accumulation), ", learning-rate factor ", row->lr_factor);
    }
    absl::StrAppend(&text, record.simulated ? " (simulated devices)\n" : "\n");
  }
  if (round.straggler.has_value()) absl::StrAppend(&text, StragglerText(*round.straggler));
  return text;
}

}  // namespace autobatch
