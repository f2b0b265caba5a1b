#include "autobatch/report/table.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/units.h"
#include "autobatch/report/text.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

constexpr int kMinWidth = 80;
constexpr size_t kTailLines = 10;

// Columns that a shortened device name still needs to be of use.
constexpr int kLeastName = 12;

// A column is right-aligned unless it holds words.
struct Column {
  std::string title;
  std::string unit;
  bool words = false;
};

// Cells of one row; as many as columns.
using Row = std::vector<std::string>;

// Columns that each column needs; 0 where every cell is empty, so that it is left out.
std::vector<int> Widths(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  std::vector<int> widths(columns.size(), 0);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (const Row& row : rows) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    if (widths[c] == 0) continue;
    widths[c] =
        std::max({widths[c], DisplayWidth(columns[c].title), DisplayWidth(columns[c].unit)});
  }
  return widths;
}

int LineWidth(const std::vector<int>& widths) {
  int total = 0;
  for (const int width : widths) total += width == 0 ? 0 : width + 2;
  return std::max(0, total - 2);
}

// The titles, the units where there are any, and the rows, each cell cut to its width.
std::string Aligned(const std::vector<Column>& columns, const std::vector<Row>& rows,
                    const std::vector<int>& widths) {
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string out;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (widths[c] == 0) continue;
      if (!out.empty()) absl::StrAppend(&out, "  ");
      const std::string shown = Shorten(cell(c), widths[c]);
      absl::StrAppend(&out,
                      columns[c].words ? PadRight(shown, widths[c]) : PadLeft(shown, widths[c]));
    }
    out.erase(out.find_last_not_of(' ') + 1);
    if (!out.empty()) absl::StrAppend(&text, out, "\n");
  };
  line([&](size_t c) { return columns[c].title; });
  line([&](size_t c) { return columns[c].unit; });
  for (const Row& row : rows) line([&](size_t c) { return row[c]; });
  return text;
}

// Appends wrapped text: `first` before the first line, spaces before the others.
void AppendWrapped(std::string& text, absl::string_view first, absl::string_view words, int width) {
  const int indent = DisplayWidth(first);
  std::string before(first);
  for (const std::string& line : Wrap(words, width - indent)) {
    absl::StrAppend(&text, before, line, "\n");
    before.assign(indent, ' ');
  }
}

std::string Number(const std::optional<double>& value, absl::string_view absent) {
  if (!value.has_value() || !std::isfinite(*value)) return std::string(absent);
  return *value < 1000 ? absl::StrFormat("%.1f", *value) : absl::StrFormat("%.0f", *value);
}

std::string GiB(const std::optional<int64_t>& bytes) {
  return bytes.has_value() ? absl::StrFormat("%.2f", static_cast<double>(*bytes) / kGiB) : "-";
}

std::string BatchCell(const DeviceResult& result) {
  const std::optional<int64_t> batch = AnswerBatch(result);
  if (!batch.has_value()) return "none";
  const bool ran = result.status == ResultStatus::kConfirmed;
  return absl::StrCat(FormatCount(*batch), ran ? "" : "*");
}

std::string OthersCell(const Device& device) {
  if (device.memory.others.empty()) return "";
  return GiB(OthersBytes(device));
}

// One row a device. Where the names do not fit, they follow in lines of their own.
std::string DeviceTable(const NodeReport& report, int width) {
  const std::vector<Column> columns = {
      {"device", "", true}, {"name", "", true}, {"free/total", "GiB"}, {"others", "GiB"},
      {"batch", ""},        {"peak", "GiB"},    {"headroom", "GiB"},   {"step", "ms"},
      {"samples", "per s"}, {"trials", ""},
  };
  constexpr size_t kName = 1;
  std::vector<Row> rows;
  for (const DeviceResult& result : report.devices) {
    const MemoryInfo& memory = result.device.memory;
    rows.push_back({EscapeControls(result.device.address), DeviceName(result.device),
                    absl::StrCat(GiB(memory.free_bytes), "/", GiB(memory.total_bytes)),
                    OthersCell(result.device), BatchCell(result), GiB(result.peak_bytes),
                    GiB(result.headroom_bytes), Number(result.step_ms, "-"),
                    Number(result.samples_per_second, "-"),
                    absl::StrCat(result.observations.size())});
  }
  std::vector<int> widths = Widths(columns, rows);
  std::string names;
  if (const int excess = LineWidth(widths) - width; excess > 0) {
    widths[kName] -= excess;
    if (widths[kName] < kLeastName) {
      widths[kName] = 0;
      for (const Row& row : rows)
        AppendWrapped(names, absl::StrCat("  ", row[0], ": "), row[kName], width);
    }
  }
  return absl::StrCat(Aligned(columns, rows, widths), names);
}

// What a star in the batch column stands for, and everything else that a number cannot say.
std::string Remarks(const DeviceResult& result, int width) {
  std::string text;
  const std::string address = absl::StrCat(EscapeControls(result.device.address), ": ");
  const auto remark = [&](absl::string_view words) {
    AppendWrapped(text, absl::StrCat("  ", address), words, width);
  };
  if (result.status == ResultStatus::kEstimated || result.status == ResultStatus::kPartial) {
    remark(absl::StrCat("* ", StatusWords(result)));
  }
  if (result.device.simulated) {
    remark("simulated: no such device is here, its numbers are a model's");
  }
  if (result.from_cache) remark(StatusWords(result));
  if (const std::string method = MethodWords(result); !method.empty()) remark(method);
  if (!result.shared_search_with.empty()) {
    remark(absl::StrCat("same kind of device as ", EscapeControls(result.shared_search_with),
                        ": its search was shared, the answer was confirmed here too"));
  }
  for (const ProcessUse& process : result.device.memory.others) {
    remark(absl::StrCat("also used by ", ProcessWords(process)));
  }
  for (const std::string& warning : result.warnings) {
    remark(WarningText(warning));
  }
  return text;
}

// What the device may use and what is held back of it.
std::string MarginBlock(const DeviceResult& result, int width) {
  std::vector<Row> rows;
  for (const Margin& margin : result.margins) {
    rows.push_back({absl::StrCat("  ", EscapeControls(margin.name)), FormatBytes(margin.bytes),
                    EnumName(margin.source), EscapeControls(margin.note)});
  }
  if (rows.empty() && !result.budget_bytes.has_value()) return "";
  std::string block = absl::StrCat("budget ", BytesOr(result.budget_bytes),
                                   rows.empty() ? "" : "; held back:", "\n");
  if (rows.empty()) return block;
  const std::vector<Column> columns = {
      {"  margin", "", true}, {"bytes", ""}, {"source", "", true}, {"why", "", true}};
  std::vector<int> widths = Widths(columns, rows);
  const int why = width - LineWidth({widths[0], widths[1], widths[2]}) - 2;
  widths.back() = std::min(widths.back(), std::max(why, kLeastName));
  // A reason that is cut explains nothing.
  std::vector<Row> wrapped;
  for (Row row : rows) {
    for (std::string& line : Wrap(row.back(), widths.back())) {
      row.back() = std::move(line);
      wrapped.push_back(std::exchange(row, Row{"", "", "", ""}));
    }
    if (!row[0].empty()) wrapped.push_back(row);  // No reason was given.
  }
  return absl::StrCat(block, Aligned(columns, wrapped, widths));
}

// The margins of every device, once for those that agree.
std::string Margins(const NodeReport& report, int width) {
  std::vector<std::pair<std::string, std::string>> groups;  // block, devices
  for (const DeviceResult& result : report.devices) {
    const std::string block = MarginBlock(result, width);
    if (block.empty()) continue;
    const std::string address = EscapeControls(result.device.address);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == block; });
    if (same == groups.end()) {
      groups.emplace_back(block, address);
    } else {
      absl::StrAppend(&same->second, ", ", address);
    }
  }
  std::string text;
  for (const auto& [block, devices] : groups) {
    AppendWrapped(text, "", absl::StrCat(devices, ":"), width);
    absl::StrAppend(&text, "  ", block);
  }
  return text;
}

std::string FailureText(const DeviceResult& result, int width) {
  const Failure& failure = *result.failure;
  std::string text;
  AppendWrapped(text, absl::StrCat(EscapeControls(result.device.address), ": "),
                absl::StrCat(StatusWords(result), ": ", FailureWords(failure)), width);
  if (!failure.message.empty()) AppendWrapped(text, "  ", EscapeControls(failure.message), width);
  if (failure.requested_bytes.has_value()) {
    absl::StrAppend(&text, "  the failing allocation asked for ",
                    FormatBytes(*failure.requested_bytes), "\n");
  }
  if (!failure.advice.empty()) {
    AppendWrapped(text, "  what to do: ", EscapeControls(failure.advice), width);
  }
  std::vector<absl::string_view> lines =
      absl::StrSplit(failure.stderr_tail, '\n', absl::SkipWhitespace());
  if (lines.size() > kTailLines) lines.erase(lines.begin(), lines.end() - kTailLines);
  if (!lines.empty()) absl::StrAppend(&text, "  its last lines:\n");
  for (const absl::string_view line : lines) {
    absl::StrAppend(&text, Shorten(absl::StrCat("  | ", EscapeControls(line)), width), "\n");
  }
  return text;
}

}  // namespace

std::string ResultTable(const NodeReport& report, int width) {
  width = std::max(width, kMinWidth);
  std::string text;
  if (report.workload.kind == WorkloadKind::kCommand) {
    AppendWrapped(text, "command: ", WorkloadWords(report.workload), width);
    AppendWrapped(text, "its framework: ", CommandFramework(report.host), width);
  }
  if (!report.devices.empty()) absl::StrAppend(&text, DeviceTable(report, width));
  std::string remarks;
  for (const DeviceResult& result : report.devices) {
    absl::StrAppend(&remarks, Remarks(result, width));
  }
  absl::StrAppend(&text, remarks);
  if (const std::string margins = Margins(report, width); !margins.empty()) {
    absl::StrAppend(&text, "\n", margins);
  }
  for (const DeviceResult& result : report.devices) {
    if (result.failure.has_value()) absl::StrAppend(&text, "\n", FailureText(result, width));
  }
  if (!text.empty()) absl::StrAppend(&text, "\n");
  for (const std::string& sentence : NodeSentences(report)) {
    AppendWrapped(text, "", sentence, width);
  }
  for (const std::string& warning : report.warnings) {
    AppendWrapped(text, kWarning, EscapeControls(warning), width);
  }
  return text;
}

std::string WarningLines(const NodeReport& report) {
  std::string lines;
  for (const std::string& warning : report.warnings) {
    absl::StrAppend(&lines, WarningText(warning), "\n");
  }
  for (const DeviceResult& result : report.devices) {
    for (const std::string& warning : result.warnings) {
      absl::StrAppend(&lines, EscapeControls(result.device.address), ": ", WarningText(warning),
                      "\n");
    }
  }
  return lines;
}

}  // namespace autobatch
