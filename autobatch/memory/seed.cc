#include "autobatch/memory/seed.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/memory/python_numbers.h"

namespace autobatch {

double Gib(int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kGiB); }

absl::string_view DeviceType(absl::string_view device) {
  return device.substr(0, device.find(':'));
}

double FreeGib(const SeedReadings& readings) {
  return Gib(readings.total_bytes) - (Gib(readings.reserved_bytes) + Gib(readings.allocated_bytes));
}

std::vector<int64_t> UltralyticsBatchSizes(double total_gib) {
  if (total_gib < 16) return {1, 2, 4, 8, 16};
  return {1, 2, 4, 8, 16, 32, 64};
}

double FractionOfBatchArgument(double batch) { return batch > 0.0 && batch < 1.0 ? batch : 0.6; }

UsablePoints SelectUsable(const std::vector<int64_t>& batch_sizes,
                          const std::vector<std::optional<double>>& memory, double total_gib) {
  UsablePoints points;
  for (size_t i = 0; i < batch_sizes.size(); ++i) {
    if (!memory[i].has_value()) continue;
    const bool within = *memory[i] > 0 && *memory[i] < total_gib;
    const bool grows = i == 0 || !memory[i - 1].has_value() || *memory[i] > *memory[i - 1];
    if (!within || !grows) continue;
    points.batch.push_back(static_cast<double>(batch_sizes[i]));
    points.memory.push_back(*memory[i]);
  }
  return points;
}

double BelowFirstFailure(double batch, const std::vector<int64_t>& batch_sizes,
                         const std::vector<std::optional<double>>& memory) {
  const size_t failed = std::find(memory.begin(), memory.end(), std::nullopt) - memory.begin();
  if (failed == memory.size()) return batch;
  const bool reached = batch >= static_cast<double>(batch_sizes[failed]);
  return reached ? static_cast<double>(batch_sizes[failed == 0 ? 0 : failed - 1]) : batch;
}

Profile RunProfiler(ProfileFunction profile, const ProfileRequest& request, SeedAnswer& answer) {
  Profile profiled = profile(request);
  answer.log.insert(answer.log.end(), profiled.log.begin(), profiled.log.end());
  return profiled;
}

absl::Status CheckProfile(const ProfileRequest& request, const Profile& profile) {
  if (!profile.status.ok()) return profile.status;
  if (profile.memory.size() != request.batch_sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the profiler answered for ",
                                                   profile.memory.size(), " of ",
                                                   request.batch_sizes.size(), " sizes"));
  }
  return absl::OkStatus();
}

void LogTo(SeedAnswer& answer, LogLevel level, absl::string_view text) {
  answer.log.push_back({level, absl::StrCat("AutoBatch: ", text)});
}

SeedAnswer AnswerDefault(SeedAnswer answer, LogLevel level, absl::string_view why, int64_t batch) {
  LogTo(answer, level, absl::StrCat(why, batch));
  answer.batch = batch;
  return answer;
}

std::string MemoryLine(absl::string_view device, const SeedReadings& readings) {
  const auto gib = [](double number) { return PythonFixed(number, 2); };
  return absl::StrCat(device, " (", readings.name, ") ", gib(Gib(readings.total_bytes)),
                      "G total, ", gib(Gib(readings.reserved_bytes)), "G reserved, ",
                      gib(Gib(readings.allocated_bytes)), "G allocated, ", gib(FreeGib(readings)),
                      "G free");
}

std::string UsingLine(int64_t batch, absl::string_view device, double total_gib, double share) {
  return absl::StrCat("Using batch-size ", batch, " for ", device, " ",
                      PythonFixed(total_gib * share, 2), "G/", PythonFixed(total_gib, 2), "G (",
                      PythonFixed(share * 100, 0), "%) ✅");
}

}  // namespace autobatch
