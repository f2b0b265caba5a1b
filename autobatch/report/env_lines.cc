#include "autobatch/report/env_lines.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "autobatch/report/text.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

bool IsHarmless(char c) {
  return absl::ascii_isalnum(c) || absl::string_view("-_.:/@%+,").find(c) != std::string::npos;
}

// The enum is in the order of certainty, but for partial: it ran, an estimate did not.
int Doubt(ResultStatus status) {
  switch (status) {
    case ResultStatus::kConfirmed:
      return 0;
    case ResultStatus::kPartial:
      return 1;
    case ResultStatus::kEstimated:
      return 2;
    case ResultStatus::kFailed:
      return 3;
  }
  return 3;
}

}  // namespace

std::string ShellQuote(absl::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsHarmless)) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<std::string> EnvLines(const NodeReport& report) {
  const bool all = std::all_of(report.devices.begin(), report.devices.end(),
                               [](const DeviceResult& r) { return AnswerBatch(r).has_value(); });
  if (!report.minimum_batch.has_value() || report.devices.empty() || !all) {
    return absl::FailedPreconditionError(
        absl::StrCat("no lines for the environment: ", absl::StrJoin(NodeSentences(report), " ")));
  }
  const auto count = static_cast<int64_t>(report.devices.size());
  const int64_t world_size = report.world_size.value_or(count);
  ResultStatus status = ResultStatus::kConfirmed;
  std::string devices;
  bool simulated = report.simulated;
  for (int64_t i = 0; i < count; ++i) {
    const DeviceResult& result = report.devices[i];
    if (Doubt(result.status) > Doubt(status)) status = result.status;
    simulated = simulated || result.device.simulated;
    absl::StrAppend(&devices, "AUTOBATCH_BATCH_", i, "=", *AnswerBatch(result), "\n",
                    "AUTOBATCH_DEVICE_", i, "=", ShellQuote(EscapeControls(result.device.uuid)),
                    "\n");
  }
  return absl::StrCat(
      "AUTOBATCH_MICRO_BATCH=", *report.minimum_batch,
      "\nAUTOBATCH_ACCUMULATION=", report.accumulation, "\nAUTOBATCH_WORLD_SIZE=", world_size,
      "\nAUTOBATCH_GLOBAL_BATCH=", *report.minimum_batch * report.accumulation * world_size,
      "\nAUTOBATCH_STATUS=", EnumName(status), "\n", devices,
      simulated ? "AUTOBATCH_SIMULATED=1\n" : "");
}

}  // namespace autobatch
