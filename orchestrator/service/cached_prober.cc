#include "orchestrator/service/cached_prober.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/memory/budget.h"
#include "autobatch/report/words.h"

namespace autobatch {
namespace {

constexpr std::chrono::milliseconds kReleasePoll(200);

DeviceResult WithoutAnswer(const Device& device, FailureKind kind, std::string why) {
  return {.device = device, .failure = Failure{.kind = kind, .message = std::move(why)}};
}

DeviceResult Remembered(const Device& device, const FirstGuess& answer) {
  return {.device = device,
          .status = ResultStatus::kConfirmed,
          .confirmed_batch = answer.batch,
          .bound = answer.bound,
          .margins = answer.measured,
          .from_cache = true};
}

// Processes that were not there when the device was listed.
std::vector<std::string> Newcomers(const Device& device, const MemoryInfo& now) {
  std::vector<std::string> names;
  for (const ProcessUse& use : now.others) {
    const auto listed = [&use](const ProcessUse& other) { return other.pid == use.pid; };
    if (std::any_of(device.memory.others.begin(), device.memory.others.end(), listed)) continue;
    names.push_back(
        absl::StrCat("pid ", use.pid, use.name.empty() ? "" : absl::StrCat(" (", use.name, ")"),
                     use.bytes.has_value() ? absl::StrCat(" with ", FormatBytes(*use.bytes)) : ""));
  }
  return names;
}

// A probe of some of the devices, for an observer that counts all of them.
class Renumbered final : public ProbeObserver {
 public:
  Renumbered(ProbeObserver& observer, std::vector<size_t> numbers)
      : observer_(observer), numbers_(std::move(numbers)) {}

  void OnProgress(size_t device, const TrialSpec& trial, const Reply& reply) override {
    observer_.OnProgress(numbers_[device], trial, reply);
  }
  void OnTrial(size_t device, const Observation& observation) override {
    observer_.OnTrial(numbers_[device], observation);
  }
  void OnDevice(size_t device, const DeviceResult& result) override {
    observer_.OnDevice(numbers_[device], result);
  }

 private:
  ProbeObserver& observer_;
  const std::vector<size_t> numbers_;
};

std::vector<size_t> NumbersOf(const std::vector<Device>& some, const std::vector<Device>& all) {
  std::vector<size_t> numbers;
  for (const Device& device : some) {
    const auto same = [&device](const Device& other) { return other.uuid == device.uuid; };
    numbers.push_back(
        static_cast<size_t>(std::find_if(all.begin(), all.end(), same) - all.begin()));
  }
  return numbers;
}

}  // namespace

CachedProber::CachedProber(CachedProberOptions options) : options_(std::move(options)) {}

std::optional<DeviceResult> CachedProber::WithoutTrial(
    const ProbeSpec& spec, const Device& device, std::optional<int64_t> communicator_bytes) const {
  if (options_.verify == VerifyPolicy::kAlways) return std::nullopt;
  const auto known = known_.find(device.uuid);
  if (known != known_.end() && known->second.communicator_bytes >= communicator_bytes.value_or(0)) {
    DeviceResult result = known->second.result;
    result.from_cache = true;
    return result;
  }
  if (const std::optional<FirstGuess> answer = EarlierAnswer(spec, device)) {
    return Remembered(device, *answer);
  }
  if (options_.verify == VerifyPolicy::kFirst) return std::nullopt;
  return WithoutAnswer(
      device, FailureKind::kCannotStart,
      "no earlier answer for this device, driver, workload and settings, and --verify never runs "
      "no trial");
}

ProbeAnswer CachedProber::Probe(std::optional<int64_t> communicator_bytes) {
  const ProbeSpec spec = SpecFor(communicator_bytes);
  std::map<std::string, DeviceResult> results;
  std::vector<Device> to_run;
  for (const Device& device : options_.devices) {
    if (std::optional<DeviceResult> answer = WithoutTrial(spec, device, communicator_bytes)) {
      results[device.uuid] = *std::move(answer);
    } else {
      to_run.push_back(device);
    }
  }
  for (DeviceResult& result : Run(spec, std::move(to_run))) {
    results[result.device.uuid] = std::move(result);
  }
  std::vector<DeviceResult> ordered;
  for (const Device& device : options_.devices) {
    DeviceResult& result = results[device.uuid];
    if (AnswerBatch(result).has_value()) {
      known_[device.uuid] = {result, CommunicatorBytes(spec, result)};
    } else {
      known_.erase(device.uuid);
    }
    ordered.push_back(std::move(result));
  }
  MutexLock lock(mutex_);
  results_ = std::move(ordered);
  return Summarize(spec, results_);
}

void CachedProber::Cancel(const std::string& why) {
  MutexLock lock(mutex_);
  if (cancel_reason_.has_value()) return;
  cancel_reason_ = why;
  if (running_ != nullptr) running_->Cancel({.kind = FailureKind::kCancelled, .message = why});
  cancelled_.notify_all();
}

std::vector<DeviceResult> CachedProber::results() const {
  MutexLock lock(mutex_);
  return results_;
}

ProbeSpec CachedProber::SpecFor(std::optional<int64_t> communicator_bytes) const {
  ProbeSpec spec = options_.spec;
  // Said outright, for what is probed may be a part of the devices.
  spec.world_size = WorldSize(spec, static_cast<int64_t>(options_.devices.size()));
  if (communicator_bytes.has_value()) {
    spec.communicator_bytes = std::max(*communicator_bytes, spec.communicator_bytes.value_or(0));
  }
  return spec;
}

std::optional<FirstGuess> CachedProber::EarlierAnswer(const ProbeSpec& spec,
                                                      const Device& device) const {
  if (options_.parts.cache == nullptr || spec.strategy != Strategy::kConfirm) return std::nullopt;
  const absl::StatusOr<FirstGuess> answer = options_.parts.cache->Find(
      MakeCacheKey(spec, device, options_.parts.driver_version, options_.parts.libtorch_version,
                   static_cast<int64_t>(options_.devices.size())));
  // What is wrong with a damaged one is reported by the search that replaces it.
  if (!answer.ok()) return std::nullopt;
  return *answer;
}

std::vector<DeviceResult> CachedProber::Run(const ProbeSpec& spec, std::vector<Device> devices) {
  if (devices.empty()) return {};
  WaitForRelease(devices);
  NodeProbeParts parts = options_.parts;
  parts.earlier = [this](const Device& device) -> std::optional<FirstGuess> {
    const auto known = known_.find(device.uuid);
    return known == known_.end() ? std::nullopt : GuessFrom(known->second.result);
  };
  std::optional<Renumbered> observer;
  if (parts.observer != nullptr) {
    observer.emplace(*parts.observer, NumbersOf(devices, options_.devices));
    parts.observer = &*observer;
  }
  NodeProbe probe(spec, std::move(devices), std::move(parts));
  {
    MutexLock lock(mutex_);
    running_ = &probe;
    if (cancel_reason_.has_value()) {
      probe.Cancel({.kind = FailureKind::kCancelled, .message = *cancel_reason_});
    }
  }
  std::vector<DeviceResult> results = probe.Run();
  MutexLock lock(mutex_);
  running_ = nullptr;
  return results;
}

void CachedProber::WaitForRelease(const std::vector<Device>& devices) {
  if (!options_.read_memory) return;
  for (const Device& device : devices) {
    if (device.kind != DeviceKind::kCpu) AwaitNewcomersEnd(device);
  }
}

void CachedProber::AwaitNewcomersEnd(const Device& device) {
  const SteadyTime deadline = Add(std::chrono::steady_clock::now(), options_.release_timeout);
  bool told = false;
  while (true) {
    const absl::StatusOr<MemoryInfo> now = options_.read_memory(device.uuid);
    const std::vector<std::string> newcomers =
        now.ok() ? Newcomers(device, *now) : std::vector<std::string>{};
    if (newcomers.empty()) return;
    const bool late = std::chrono::steady_clock::now() >= deadline;
    if (options_.say && (late || !told)) {
      options_.say(absl::StrCat(device.address, " is still held by ",
                                absl::StrJoin(newcomers, ", "),
                                late ? "; it is probed with what is left" : "; waiting"));
    }
    told = true;
    MutexLock lock(mutex_);
    if (late || cancel_reason_.has_value()) return;
    cancelled_.wait_for(mutex_, kReleasePoll);
  }
}

// What is held back for communicators while this device's batch is confirmed.
int64_t CachedProber::CommunicatorBytes(const ProbeSpec& spec, const DeviceResult& result) const {
  const auto find = [](const std::vector<Margin>& margins) {
    const auto found = std::find_if(margins.begin(), margins.end(), [](const Margin& margin) {
      return margin.name == kCommunicator;
    });
    return found == margins.end() ? std::nullopt : std::optional<int64_t>(found->bytes);
  };
  if (const std::optional<int64_t> held = find(result.margins); held.has_value()) return *held;
  // Of an answer from the cache, what the same settings hold back.
  const auto devices = static_cast<int64_t>(options_.devices.size());
  const absl::StatusOr<BudgetModel> budget =
      BudgetModel::Create(SearchOptionsFor(spec, result.device, devices, GuessFrom(result)).budget);
  return budget.ok() ? find(budget->Margins()).value_or(0) : 0;
}

ProbeAnswer CachedProber::Summarize(const ProbeSpec& spec,
                                    const std::vector<DeviceResult>& results) const {
  ProbeAnswer answer;
  const DeviceResult* least = nullptr;
  int64_t without = 0;
  int64_t remembered = 0;
  for (const DeviceResult& result : results) {
    answer.devices.push_back(OutcomeOf(result));
    remembered += result.from_cache ? 1 : 0;
    if (!AnswerBatch(result).has_value()) {
      ++without;
      continue;
    }
    if (least == nullptr || AnswerBatch(result) < AnswerBatch(*least)) least = &result;
    const int64_t held = CommunicatorBytes(spec, result);
    answer.communicator_bytes = std::min(answer.communicator_bytes.value_or(held), held);
  }
  answer.summary = absl::StrCat(
      Counted(std::ssize(results), "device"),
      least == nullptr
          ? ""
          : absl::StrCat(", batch ", *AnswerBatch(*least), " set by ", least->device.address),
      without == 0 ? "" : absl::StrCat(", ", without, " without a batch"),
      remembered == 0 ? "" : absl::StrCat(", ", remembered, " from an earlier answer"));
  return answer;
}

}  // namespace autobatch
