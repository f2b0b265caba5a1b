#include "autobatch/report/html.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/units.h"
#include "autobatch/report/markup.h"
#include "autobatch/report/plot.h"
#include "autobatch/report/style.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

// Escaped already by words.h against control characters; markup still has to be.
std::string Safe(const std::string& text) { return EscapeHtml(text); }

std::string Number(const std::optional<double>& value) {
  return value.has_value() && std::isfinite(*value) ? absl::StrFormat("%.1f", *value) : "–";
}

std::string Bytes(const std::optional<int64_t>& bytes) { return BytesOr(bytes, "–"); }

// Names and values, as a description list.
class Facts {
 public:
  void Add(absl::string_view name, const std::string& value) {
    if (value.empty()) return;
    // A long value gets the whole line instead of being broken.
    constexpr size_t kLong = 22;
    absl::StrAppend(&html_, value.size() > kLong ? "<div class=\"wide\"><dt>" : "<div><dt>",
                    EscapeHtml(name), "</dt><dd>", Safe(value), "</dd></div>\n");
  }
  std::string Html() const { return absl::StrCat("<dl class=\"facts\">\n", html_, "</dl>\n"); }

 private:
  std::string html_;
};

std::string Pill(const char* css, absl::string_view words) {
  return absl::StrCat("<span class=\"pill ", css, "\">", EscapeHtml(words), "</span>");
}

std::string StatusPill(const DeviceResult& result) {
  const bool good = result.status == ResultStatus::kConfirmed;
  const bool bad = result.status == ResultStatus::kFailed;
  return Pill(good ? "good-text" : bad ? "bad-text" : "odd-text", StatusWords(result));
}

std::string Warnings(const std::vector<std::string>& warnings) {
  std::string html;
  for (const std::string& warning : warnings) {
    absl::StrAppend(&html, "<p class=\"note\">Warning: ", Safe(warning), "</p>\n");
  }
  return html;
}

std::string Hero(const NodeReport& report) {
  std::vector<std::string> sentences = NodeSentences(report);
  // The heading says it already.
  const bool repeats = !report.minimum_batch.has_value() && !report.devices.empty();
  if (repeats) sentences.erase(sentences.begin());
  const bool estimated = std::any_of(
      report.devices.begin(), report.devices.end(),
      [](const DeviceResult& result) { return result.status == ResultStatus::kEstimated; });
  std::string html = absl::StrCat("<header><p class=\"soft\">autobatch on ", Safe(report.host.host),
                                  ", ", Safe(report.host.date), "</p>\n<h1>");
  if (report.minimum_batch.has_value()) {
    absl::StrAppend(&html, estimated ? "Estimated batch " : "Batch ",
                    FormatCount(*report.minimum_batch),
                    report.devices.size() == 1
                        ? " on this device"
                        : absl::StrCat(" on each of ", report.devices.size(), " devices"));
  } else {
    absl::StrAppend(&html, "No safe batch");
  }
  absl::StrAppend(&html, "</h1>\n");
  if (report.simulated) {
    absl::StrAppend(&html, "<p>", Pill("odd-text", "simulated"),
                    " At least one device is not real; its numbers are a model's.</p>\n");
  }
  for (const std::string& sentence : sentences) {
    absl::StrAppend(&html, "<p>", Safe(sentence), "</p>\n");
  }
  return absl::StrCat(html, Warnings(report.warnings), "</header>\n");
}

std::string FreeOfTotal(const MemoryInfo& memory) {
  const auto gib = [](const std::optional<int64_t>& bytes) {
    return bytes.has_value() ? absl::StrFormat("%.2f", static_cast<double>(*bytes) / kGiB) : "–";
  };
  return absl::StrCat(gib(memory.free_bytes), " / ", gib(memory.total_bytes));
}

std::string Summary(const NodeReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < report.devices.size(); ++i) {
    const DeviceResult& result = report.devices[i];
    const MemoryInfo& memory = result.device.memory;
    const std::optional<int64_t> batch = AnswerBatch(result);
    const std::string others = memory.others.empty() ? "none" : BytesOr(OthersBytes(result.device));
    rows.push_back(
        {absl::StrCat("<a href=\"#device-", i, "\">", Safe(result.device.address), "</a>"),
         Safe(DeviceName(result.device)),
         batch.has_value() ? absl::StrCat("<b>", FormatCount(*batch), "</b>") : "none",
         StatusWords(result), Bytes(result.peak_bytes), Bytes(result.headroom_bytes),
         Number(result.step_ms), Number(result.samples_per_second), FreeOfTotal(memory), others,
         absl::StrCat(result.observations.size())});
  }
  return absl::StrCat("<section class=\"card\"><h2>Devices</h2>\n",
                      HtmlTable("Devices and their batches",
                                {"<Device", "<Name", "Batch", "<Status", "Peak", "Headroom",
                                 "ms/step", "Samples/s", "Free / total, GiB", "Others", "Trials"},
                                rows),
                      "</section>\n");
}

std::string HostSection(const NodeReport& report) {
  const HostFacts& host = report.host;
  const WorkloadSpec& workload = report.workload;
  Facts facts;
  facts.Add("Workload", WorkloadWords(workload));
  if (workload.kind != WorkloadKind::kCommand) {
    facts.Add("Precision", EnumName(workload.precision));
    facts.Add("Optimizer", EnumName(workload.optimizer));
  }
  if (workload.kind == WorkloadKind::kCommand) {
    facts.Add("Its framework", CommandFramework(host));
  }
  facts.Add("autobatch", host.autobatch_version);
  // A command brings its own.
  const std::string whose = workload.kind == WorkloadKind::kCommand ? "autobatch's own " : "";
  facts.Add(whose + "LibTorch", host.libtorch_version.value_or("none"));
  facts.Add(whose + "CUDA", host.cuda_version.value_or("none"));
  facts.Add("NVIDIA driver", host.driver_version.value_or("none"));
  facts.Add(whose + "NCCL", host.nccl_version.value_or("none"));
  const bool empty = host.cuda_visible_devices == "";
  facts.Add("CUDA_VISIBLE_DEVICES",
            empty ? "set and empty" : host.cuda_visible_devices.value_or("not set"));
  return absl::StrCat("<section class=\"card\"><h2>Workload and host</h2>\n", facts.Html(),
                      "</section>\n");
}

// One named part of a device's memory; its class gives bar and table the same colour.
struct Part {
  std::string css;
  std::string name;
  int64_t bytes = 0;
  std::string source;
  std::string note;
};

std::vector<Part> MemoryParts(const DeviceResult& result) {
  std::vector<Part> parts;
  if (result.peak_bytes.has_value()) {
    parts.push_back({"peak", "peak of the batch", *result.peak_bytes, "measured", ""});
  }
  if (result.headroom_bytes.value_or(0) > 0) {
    parts.push_back({"left", "left of the budget", *result.headroom_bytes, "measured", ""});
  }
  for (size_t i = 0; i < result.margins.size(); ++i) {
    const Margin& margin = result.margins[i];
    parts.push_back({absl::StrCat("m", i % 4), margin.name, margin.bytes, EnumName(margin.source),
                     margin.note});
  }
  int64_t rest = result.device.memory.total_bytes.value_or(0);
  for (const Part& part : parts) rest -= part.bytes;
  if (rest > 0 && !parts.empty()) {
    parts.push_back({"rest", "rest of the device", rest, "measured",
                     "driver, contexts, other processes, or above an asked limit"});
  }
  return parts;
}

std::string MemorySection(const DeviceResult& result) {
  const std::vector<Part> parts = MemoryParts(result);
  if (parts.empty()) return "";
  std::string bar;
  std::vector<std::vector<std::string>> rows;
  for (const Part& part : parts) {
    const std::string name = Safe(part.name);
    // Every stripe is wide enough to be seen: a part of nothing has none.
    if (part.bytes > 0) {
      absl::StrAppendFormat(
          &bar, "<span class=\"%s\" style=\"flex:%d 1 0\" title=\"%s %s\"></span>", part.css,
          std::max<int64_t>(part.bytes / kMiB, 0), name, FormatBytes(part.bytes));
    }
    std::string about = part.source;
    if (!part.note.empty()) absl::StrAppend(&about, ": ", part.note);
    rows.push_back({absl::StrCat("<span class=\"swatch ", part.css, "\"></span>", name),
                    FormatBytes(part.bytes), Safe(about)});
  }
  return absl::StrCat("<h3>Where the memory goes</h3>\n<div class=\"bar\" aria-hidden=\"true\">",
                      bar, "</div>\n",
                      HtmlTable("Memory by name", {"<Part", "Bytes", "<Source"}, rows));
}

std::string FailureSection(const DeviceResult& result) {
  if (!result.failure.has_value()) return "";
  const Failure& failure = *result.failure;
  std::string html =
      absl::StrCat("<div class=\"fail\"><p><b>", Safe(FailureWords(failure)), "</b></p>\n");
  if (!failure.message.empty()) absl::StrAppend(&html, "<p>", Safe(failure.message), "</p>\n");
  if (!failure.advice.empty()) {
    absl::StrAppend(&html, "<p>What to do: ", Safe(failure.advice), "</p>\n");
  }
  if (!failure.stderr_tail.empty()) {
    absl::StrAppend(&html, "<pre tabindex=\"0\" aria-label=\"last lines of the process\">");
    for (const absl::string_view line :
         absl::StrSplit(absl::StripTrailingAsciiWhitespace(failure.stderr_tail), '\n')) {
      absl::StrAppend(&html, EscapeHtml(line), "\n");
    }
    absl::StrAppend(&html, "</pre>\n");
  }
  return absl::StrCat(html, "</div>\n");
}

std::string Trials(const DeviceResult& result, bool open) {
  if (result.observations.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < result.observations.size(); ++i) {
    const Observation& observation = result.observations[i];
    const int64_t peak = observation.PeakReserved();
    std::string outcome = observation.ok() ? "ran" : FailureWords(*observation.failure);
    if (observation.failure.has_value() && !observation.failure->message.empty()) {
      absl::StrAppend(&outcome, ": ", observation.failure->message);
    }
    std::optional<int64_t> allocated;
    if (observation.steady.has_value()) allocated = observation.steady->allocated_bytes;
    rows.push_back(
        {absl::StrCat(i + 1), EnumName(observation.trial.purpose),
         FormatCount(observation.trial.batch), Safe(outcome), peak > 0 ? FormatBytes(peak) : "–",
         Bytes(allocated), Bytes(observation.budget_bytes), Number(observation.step_ms),
         absl::StrCat(observation.retries), absl::StrFormat("%.1f", observation.trial_ms / 1000)});
  }
  return absl::StrCat("<details", open ? " open" : "", "><summary>Trials (", rows.size(),
                      ")</summary>\n",
                      HtmlTable("Every trial in order",
                                {"#", "<Purpose", "Batch", "<Outcome", "Peak reserved", "Allocated",
                                 "Budget", "ms/step", "Retries", "Seconds"},
                                rows),
                      "</details>\n");
}

std::string DeviceFacts(const DeviceResult& result) {
  const Device& device = result.device;
  Facts facts;
  if (const auto batch = AnswerBatch(result); batch.has_value()) {
    facts.Add(result.status == ResultStatus::kEstimated ? "Estimated batch" : "Confirmed batch",
              FormatCount(*batch));
  }
  facts.Add("Limited by", BoundWords(result));
  facts.Add("Budget", BytesOr(result.budget_bytes, ""));
  if (result.step_ms.has_value()) facts.Add("Step", Number(result.step_ms) + " ms");
  if (result.samples_per_second.has_value()) {
    facts.Add("Throughput", Number(result.samples_per_second) + " samples/s");
  }
  if (result.fit.has_value() && std::isfinite(result.fit->slope_bytes_per_sample)) {
    facts.Add("A sample costs",
              FormatBytes(static_cast<int64_t>(result.fit->slope_bytes_per_sample)));
  }
  if (device.physical_ordinal.has_value()) {
    facts.Add("Physical device", absl::StrCat(*device.physical_ordinal));
  }
  facts.Add("PCI", device.pci_bus_id.value_or(""));
  facts.Add("From", device.origin);
  for (const ProcessUse& process : device.memory.others) {
    facts.Add("Also used by", ProcessWords(process));
  }
  if (!result.shared_search_with.empty())
    facts.Add("Search shared with", result.shared_search_with);
  return facts.Html();
}

std::string DeviceSection(const DeviceResult& result, size_t index, bool open) {
  std::string html = absl::StrCat(
      "<section class=\"card\" id=\"device-", index, "\"><div class=\"head\"><h2>",
      Safe(result.device.address), " · ", Safe(result.device.name), "</h2>", StatusPill(result),
      result.device.simulated ? Pill("odd-text", "simulated") : "", "</div>\n<p class=\"soft\">",
      Safe(result.device.uuid), "</p>\n", FailureSection(result), Warnings(result.warnings));
  std::string plot = MemoryPlot(result, index);
  if (plot.empty()) plot = "<p class=\"soft\">No memory was observed, so there is no plot.</p>";
  absl::StrAppend(&html, "<div class=\"split\"><div>", plot, "</div>\n<div>", DeviceFacts(result),
                  "</div></div>\n", MemorySection(result), Trials(result, open));
  if (!result.log.empty()) {
    absl::StrAppend(&html, "<details><summary>Log of the estimator</summary><pre tabindex=\"0\">");
    for (const std::string& line : result.log) absl::StrAppend(&html, Safe(line), "\n");
    absl::StrAppend(&html, "</pre></details>\n");
  }
  return absl::StrCat(html, "</section>\n");
}

}  // namespace

std::string HtmlReport(const NodeReport& report) {
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing but the page's own style: whatever got past the escaping still could not run.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>autobatch: ",
      Safe(report.host.host), "</title>\n<style>", kPageStyle, "</style></head>\n<body><main>\n",
      Hero(report));
  if (!report.devices.empty()) absl::StrAppend(&html, Summary(report));
  for (size_t i = 0; i < report.devices.size(); ++i) {
    absl::StrAppend(&html, DeviceSection(report.devices[i], i, report.devices.size() == 1));
  }
  return absl::StrCat(html, HostSection(report), "<footer>Schema ", Safe(report.schema),
                      "</footer>\n</main></body></html>\n");
}

}  // namespace autobatch
