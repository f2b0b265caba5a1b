#include "autobatch/probe/device_result.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace autobatch {

void AddConfirmed(const Observation& confirmed, DeviceResult& result) {
  result.peak_bytes = confirmed.PeakReserved();
  if (result.budget_bytes.has_value()) {
    result.headroom_bytes = *result.budget_bytes - *result.peak_bytes;
  }
  result.step_ms = confirmed.step_ms;
  if (confirmed.step_ms.value_or(0) > 0) {
    const double samples =
        static_cast<double>(confirmed.trial.batch * confirmed.trial.accumulation);
    result.samples_per_second = 1000.0 * samples / *confirmed.step_ms;
  }
}

void AddTrialWarnings(DeviceResult& result) {
  std::vector<std::string> told;
  for (const Observation& seen : result.observations) {
    for (const std::string& warning : seen.warnings) {
      const std::string kind = warning.substr(0, warning.find(": "));
      if (std::find(told.begin(), told.end(), kind) != told.end()) continue;
      told.push_back(kind);
      result.warnings.push_back(warning);
    }
  }
}

void DoubtUnusedBatch(DeviceResult& result) {
  constexpr int64_t kMuchLarger = 8;
  constexpr double kGrown = 1.02;
  std::vector<const Observation*> watched;
  for (const Observation& seen : result.observations) {
    if (!seen.ok() || seen.batch_seen.has_value() || seen.method == "worker") continue;
    watched.push_back(&seen);
  }
  if (watched.empty()) return;
  std::sort(watched.begin(), watched.end(), [](const Observation* a, const Observation* b) {
    return a->trial.batch < b->trial.batch;
  });
  const Observation& most = *watched.back();
  const auto enough = std::find_if(watched.begin(), watched.end(), [&](const Observation* less) {
    return static_cast<double>(most.PeakReserved()) <= kGrown * less->PeakReserved();
  });
  const int64_t batch = (*enough)->trial.batch;
  if (most.trial.batch < kMuchLarger * batch) return;
  result.warnings.push_back(absl::StrCat("a batch of ", most.trial.batch,
                                         " held no more memory than one of ", batch,
                                         ": see that the command uses the batch that it is given, "
                                         "and has data for it (--dataset-size)"));
}

}  // namespace autobatch
