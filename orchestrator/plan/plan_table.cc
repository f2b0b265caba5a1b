#include "orchestrator/plan/plan_table.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/report/text.h"

namespace autobatch {
namespace {

constexpr int kLineWidth = 100;
constexpr size_t kMaxGroups = 4;

// As many cells as there are columns.
using Cells = std::vector<std::string>;

// "57+57+56" as "2×57+56".
std::string StepsCell(const PlanGroup& group) {
  return absl::StrJoin(group.steps, "+", [](std::string* out, const MicroSteps& steps) {
    if (steps.count > 1) absl::StrAppend(out, FormatCount(steps.count), "×");
    absl::StrAppend(out, FormatCount(steps.micro_batch));
  });
}

// "2 ranks 3×57, 1 rank 2×57+56".
std::string SplitCell(const PlanRow& row) {
  std::vector<std::string> parts;
  for (const PlanGroup& group : row.groups) {
    if (parts.size() == kMaxGroups) {
      parts.push_back("…");
      break;
    }
    parts.push_back(absl::StrCat(Counted(group.ranks, "rank"), " ", StepsCell(group)));
  }
  return absl::StrJoin(parts, ", ");
}

// The least and the greatest weight of a micro-step.
std::string WeightCell(const PlanRow& row) {
  int64_t least = row.micro_batch;
  for (const PlanGroup& group : row.groups) {
    least = std::min(least, group.steps.back().micro_batch);
  }
  const auto weight = [&](int64_t micro_batch) {
    return absl::StrFormat("%.4g", static_cast<double>(micro_batch) * row.sample_weight);
  };
  if (least == row.micro_batch) return weight(least);
  return absl::StrCat(weight(least), "–", weight(row.micro_batch));
}

std::string EpochCell(const PlanRow& row) {
  if (!row.steps_per_epoch.has_value()) return "";
  if (*row.last_step_samples == row.global_batch) return FormatCount(*row.steps_per_epoch);
  return absl::StrCat(FormatCount(*row.steps_per_epoch), ", last of ",
                      FormatCount(*row.last_step_samples));
}

std::string NoteCell(const PlanRow& row) {
  if (row.single_sample) return "a micro-batch of 1: not for batch norm";
  return row.last_single_sample ? "last step: a micro-batch of 1, not for batch norm" : "";
}

Cells RowCells(const PlanRow& row, const PlanTableOptions& options) {
  const auto other = options.other.find(row.world_size);
  return {absl::StrCat(FormatCount(row.world_size), row.world_size == options.present ? "*" : " "),
          row.processes == row.world_size ? "" : FormatCount(row.processes),
          FormatCount(row.global_batch),
          FormatCount(row.micro_batch),
          FormatCount(row.accumulation),
          SplitCell(row),
          WeightCell(row),
          row.lr_factor == 1 ? "" : absl::StrFormat("%.4g", row.lr_factor),
          EpochCell(row),
          options.other.empty()          ? ""
          : other == options.other.end() ? "-"
                                         : EscapeControls(other->second),
          NoteCell(row)};
}

// The place of each row that is shown, in order.
std::vector<size_t> Shown(const Plan& plan, const PlanTableOptions& options) {
  std::vector<size_t> shown;
  const size_t size = plan.rows.size();
  const size_t head = options.max_rows / 2;
  const size_t tail = options.max_rows - head;
  for (size_t i = 0; i < size; ++i) {
    if (size <= options.max_rows || i < head || i >= size - tail ||
        plan.rows[i].world_size == options.present) {
      shown.push_back(i);
    }
  }
  return shown;
}

// The column with the split, and the notes: words, shortened where they are long.
bool IsWords(size_t column) { return column == 5 || column == 10; }

std::string Aligned(const std::vector<Cells>& lines) {
  std::vector<int> widths(lines.front().size(), 0);
  for (size_t column = 0; column < widths.size(); ++column) {
    const bool used = std::any_of(lines.begin() + 1, lines.end(), [&](const Cells& cells) {
      return !cells.empty() && !cells[column].empty();
    });
    if (!used) continue;
    for (const Cells& cells : lines) {
      if (cells.empty()) continue;
      widths[column] = std::max(widths[column], DisplayWidth(cells[column]));
    }
  }
  std::string text;
  for (const Cells& cells : lines) {
    std::string line;
    for (size_t column = 0; column < widths.size() && !cells.empty(); ++column) {
      if (widths[column] == 0) continue;
      if (!line.empty()) absl::StrAppend(&line, "  ");
      absl::StrAppend(&line, IsWords(column) ? PadRight(cells[column], widths[column])
                                             : PadLeft(cells[column], widths[column]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, cells.empty() ? "…" : line, "\n");
  }
  return text;
}

}  // namespace

std::string PlanTable(const Plan& plan, const PlanTableOptions& options) {
  std::vector<Cells> lines = {{"world ", "processes", "global", "micro", "steps", "split", "weight",
                               "lr", "steps/epoch", options.other_title, "note"}};
  const std::vector<size_t> shown = Shown(plan, options);
  for (size_t i = 0; i < shown.size(); ++i) {
    if (i > 0 && shown[i] != shown[i - 1] + 1) lines.emplace_back();
    lines.push_back(RowCells(plan.rows[shown[i]], options));
  }
  std::string text = plan.rows.empty() ? "" : Aligned(lines);
  if (shown.size() < plan.rows.size()) {
    absl::StrAppend(&text, "… ", FormatCount(static_cast<int64_t>(plan.rows.size() - shown.size())),
                    " more rows are not shown\n");
  }
  for (const Unserved& unserved : plan.unserved) {
    const std::string worlds = unserved.first == unserved.last
                                   ? absl::StrCat("world size ", FormatCount(unserved.first))
                                   : absl::StrCat("world sizes ", FormatCount(unserved.first),
                                                  " to ", FormatCount(unserved.last));
    for (const std::string& line :
         Wrap(absl::StrCat("no row for ", worlds, ": ", EscapeControls(unserved.reason)),
              kLineWidth)) {
      absl::StrAppend(&text, line, "\n");
    }
  }
  return text;
}

}  // namespace autobatch
