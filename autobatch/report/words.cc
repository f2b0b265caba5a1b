#include "autobatch/report/words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/report/text.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

std::string Spoken(const std::string& name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

// "cuda:1 (NVIDIA A100)".
std::string Called(const Device& device) {
  return absl::StrCat(EscapeControls(device.address), " (", DeviceName(device), ")");
}

const DeviceResult* Setter(const NodeReport& report) {
  for (const DeviceResult& result : report.devices) {
    if (result.device.uuid == report.minimum_device) return &result;
  }
  return nullptr;
}

// Devices that agree share the minimum: then none of them "set" it, unless they had no choice.
bool AllEqual(const NodeReport& report) {
  const bool one_set_it =
      std::any_of(report.devices.begin(), report.devices.end(),
                  [](const DeviceResult& r) { return r.bound == BatchBound::kOtherDevice; });
  return !one_set_it &&
         std::all_of(report.devices.begin(), report.devices.end(),
                     [&](const DeviceResult& r) { return AnswerBatch(r) == report.minimum_batch; });
}

// "Batch per GPU 16; global batch 16 × 2 devices = 32". Both, always: each is taken for the other.
std::string BothBatches(const NodeReport& report, int64_t batch, size_t devices) {
  const bool gpus =
      std::all_of(report.devices.begin(), report.devices.end(),
                  [](const DeviceResult& r) { return r.device.kind != DeviceKind::kCpu; });
  auto factor = static_cast<int64_t>(devices);
  absl::string_view unit = "device";
  if (report.world_size.has_value() && devices == report.devices.size()) {
    factor = *report.world_size;
    unit = "rank";
  }
  const std::string micro_steps =
      report.accumulation == 1 ? "" : absl::StrCat(" × ", report.accumulation, " micro-steps");
  return absl::StrCat(gpus ? "batch per GPU " : "batch per device ", FormatCount(batch),
                      "; global batch ", FormatCount(batch), micro_steps, " × ",
                      Counted(factor, unit), " = ",
                      FormatCount(batch * report.accumulation * factor));
}

// An estimate is never called safe, and an ended search is never called the largest.
std::string Certainty(const NodeReport& report) {
  const auto any = [&](ResultStatus status) {
    return std::any_of(report.devices.begin(), report.devices.end(),
                       [&](const DeviceResult& r) { return r.status == status; });
  };
  if (any(ResultStatus::kEstimated)) return "Estimated, not run: ";
  return any(ResultStatus::kPartial) ? "Largest confirmed so far: " : "Safe ";
}

}  // namespace

std::optional<int64_t> AnswerBatch(const DeviceResult& result) {
  return result.confirmed_batch.has_value() ? result.confirmed_batch : result.estimated_batch;
}

std::string StatusWords(const DeviceResult& result) {
  switch (result.status) {
    case ResultStatus::kConfirmed:
      return result.from_cache ? "confirmed (cached answer, verified)" : "confirmed";
    case ResultStatus::kEstimated:
      return "estimated, not run";
    case ResultStatus::kPartial:
      return result.bound == BatchBound::kTimeLimit ? "largest confirmed so far (time limit)"
                                                    : "largest confirmed so far (ended early)";
    case ResultStatus::kFailed:
      return "no safe batch";
  }
  return "?";
}

std::string BoundWords(const DeviceResult& result) {
  switch (result.bound) {
    case BatchBound::kMemory:
      return result.smallest_failing_batch.has_value()
                 ? absl::StrCat("memory: ", FormatCount(*result.smallest_failing_batch),
                                " did not fit")
                 : "memory";
    case BatchBound::kMaxBatch:
      return "the asked maximum (--max-batch)";
    case BatchBound::kDataset:
      return "the size of the data set";
    case BatchBound::kTimeLimit:
      return "the time limit (--time-limit)";
    case BatchBound::kThroughput:
      return "throughput: larger batches are not faster";
    case BatchBound::kFailure:
      return result.smallest_failing_batch.has_value()
                 ? absl::StrCat("a failure at ", FormatCount(*result.smallest_failing_batch))
                 : "a failure";
    case BatchBound::kOtherDevice:
      return "another device of the same trials";
    case BatchBound::kNone:
      return "";
  }
  return "";
}

std::string FailureWords(const Failure& failure) {
  std::string words = Spoken(EnumName(failure.kind));
  if (failure.phase.has_value()) absl::StrAppend(&words, " in ", Spoken(EnumName(*failure.phase)));
  if (failure.step.has_value()) {
    absl::StrAppend(&words, failure.phase.has_value() ? " of step " : " in step ", *failure.step);
  }
  if (failure.signal.has_value()) absl::StrAppend(&words, ", signal ", *failure.signal);
  if (failure.exit_code.has_value()) absl::StrAppend(&words, ", exit code ", *failure.exit_code);
  return words;
}

std::string DeviceName(const Device& device) {
  return absl::StrCat(EscapeControls(device.name), device.simulated ? " (simulated)" : "");
}

std::string WorkloadWords(const WorkloadSpec& workload) {
  if (workload.kind != WorkloadKind::kCommand) return EscapeControls(workload.name);
  std::string words;
  for (const std::string& argument : workload.command) {
    constexpr absl::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%{}";
    const bool plain = !argument.empty() && absl::string_view(argument).find_first_not_of(kPlain) ==
                                                absl::string_view::npos;
    absl::StrAppend(
        &words, words.empty() ? "" : " ",
        plain ? argument : absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'"));
  }
  return EscapeControls(words);
}

std::string CommandFramework(const HostFacts& host) {
  return host.command_framework.has_value() ? EscapeControls(*host.command_framework)
                                            : "not known: no PyTorch was seen in its processes";
}

std::string MethodWords(const DeviceResult& result) {
  std::vector<std::string> methods;
  const bool any_ran = std::any_of(result.observations.begin(), result.observations.end(),
                                   [](const Observation& seen) { return seen.ok(); });
  for (const Observation& seen : result.observations) {
    if (seen.method.empty() || seen.method == "worker") continue;
    // One that failed elsewhere, or before it could speak, says nothing of how the others were
    // seen.
    if (any_ran && !seen.ok()) continue;
    if (std::find(methods.begin(), methods.end(), seen.method) == methods.end()) {
      methods.push_back(seen.method);
    }
  }
  std::string words;
  for (const std::string& method : methods) {
    const std::string what =
        method == "driver"
            ? (result.device.kind == DeviceKind::kCpu
                   ? "watched from outside: the host memory of its processes"
                   : "watched from outside: the driver's view of its processes' memory")
        : method == "observer"
            ? "watched by the preloaded observer: every allocation, and the context"
        : method == "python" ? "measured by the Python package in the script"
                             : absl::StrCat("measured by itself (", EscapeControls(method), ")");
    absl::StrAppend(&words, words.empty() ? "" : "; some trials ", what);
  }
  return words;
}

std::string ProcessWords(const ProcessUse& process) {
  const std::string name = process.name.empty() ? "process" : EscapeControls(process.name);
  return absl::StrCat(name, " (pid ", process.pid, ") ", BytesOr(process.bytes, "unknown bytes"));
}

std::optional<int64_t> OthersBytes(const Device& device) {
  int64_t sum = 0;
  for (const ProcessUse& process : device.memory.others) {
    if (!process.bytes.has_value()) return std::nullopt;
    sum += *process.bytes;
  }
  return sum;
}

std::vector<std::string> NodeSentences(const NodeReport& report) {
  const size_t devices = report.devices.size();
  if (devices == 0) return {"No device was probed."};
  const DeviceResult* setter = Setter(report);
  std::vector<std::string> sentences;
  if (report.scope == TrialScope::kNode) {
    sentences.push_back(
        absl::StrCat("Each trial ran the command on all ", devices, " devices at once."));
  }
  if (!report.minimum_batch.has_value()) {
    sentences.push_back("The node has no safe batch.");
    if (setter != nullptr) {
      const std::string why =
          setter->failure.has_value() ? FailureWords(*setter->failure) : StatusWords(*setter);
      sentences.push_back(absl::StrCat(Called(setter->device), " has none: ", why, "."));
    }
  } else {
    sentences.push_back(
        absl::StrCat(Certainty(report), BothBatches(report, *report.minimum_batch, devices), "."));
    if (devices > 1 && AllEqual(report)) {
      sentences.push_back("All devices agree.");
    } else if (devices > 1 && setter != nullptr) {
      const std::string bound = BoundWords(*setter);
      sentences.push_back(absl::StrCat("The minimum is set by ", Called(setter->device),
                                       bound.empty() ? "" : ", limited by ", bound, "."));
    }
  }
  if (report.minimum_without_it.has_value() && report.minimum_without_it != report.minimum_batch) {
    sentences.push_back(absl::StrCat(
        "Without it: ", BothBatches(report, *report.minimum_without_it, devices - 1), "."));
  }
  return sentences;
}

std::string BytesOr(const std::optional<int64_t>& bytes, const std::string& absent) {
  return bytes.has_value() ? FormatBytes(*bytes) : absent;
}

}  // namespace autobatch
