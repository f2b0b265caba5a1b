#include "autobatch/probe/node_probe.h"

#include <span>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/probe/device_estimate.h"
#include "autobatch/probe/whole_node.h"

namespace autobatch {
namespace {

bool SameSearch(const Device& a, const Device& b) {
  return a.kind == b.kind && a.name == b.name && a.simulated == b.simulated &&
         a.memory.total_bytes.has_value() && a.memory.total_bytes == b.memory.total_bytes &&
         a.memory.others.empty() && b.memory.others.empty();
}

DeviceResult Broken(const Device& device, const absl::Status& status) {
  return DeviceResult{.device = device,
                      .failure = Failure{.kind = FailureKind::kCannotStart,
                                         .message = std::string(status.message())}};
}

}  // namespace

std::vector<size_t> SearchLeaders(const std::vector<Device>& devices) {
  std::vector<size_t> leaders;
  for (size_t i = 0; i < devices.size(); ++i) {
    size_t leader = 0;
    while (leader < i && !SameSearch(devices[leader], devices[i])) ++leader;
    leaders.push_back(leader);
  }
  return leaders;
}

NodeProbe::NodeProbe(ProbeSpec spec, std::vector<Device> devices, NodeProbeParts parts)
    : spec_(std::move(spec)),
      devices_(std::move(devices)),
      parts_(std::move(parts)),
      leaders_(SearchLeaders(devices_)),
      results_(devices_.size()),
      runners_(devices_.size(), nullptr) {}

std::vector<DeviceResult> NodeProbe::Run() {
  if (spec_.scope == TrialScope::kNode) return RunWholeNode();
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < devices_.size(); ++i) {
      threads.emplace_back([this, i] { RunDevice(i); });
    }
  }
  std::vector<DeviceResult> results;
  MutexLock lock(mutex_);
  for (std::optional<DeviceResult>& result : results_) results.push_back(*std::move(result));
  return results;
}

void NodeProbe::Cancel(Failure why) {
  MutexLock lock(mutex_);
  if (stopped_.has_value()) return;
  stopped_ = std::move(why);
  for (TrialRunner* runner : runners_) {
    if (runner != nullptr) runner->Cancel();
  }
  changed_.notify_all();
}

std::optional<Failure> NodeProbe::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void NodeProbe::RunDevice(size_t index) {
  DeviceResult notes;
  const std::optional<FirstGuess> guess = Guess(index, notes);
  {
    MutexLock lock(mutex_);
    while (spec_.parallel > 0 && running_ >= spec_.parallel) changed_.wait(mutex_);
    ++running_;
  }
  std::unique_ptr<TrialRunner> runner =
      parts_.make_runner(devices_[index], WorkloadFor(spec_, devices_[index]));
  {
    MutexLock lock(mutex_);
    runners_[index] = runner.get();
    if (stopped_.has_value()) runner->Cancel();
  }
  DeviceResult result = Probe(index, *runner, guess);
  result.warnings.insert(result.warnings.begin(), notes.warnings.begin(), notes.warnings.end());
  result.shared_search_with = notes.shared_search_with;
  result.from_cache = notes.from_cache && result.confirmed_batch == guess->batch;
  Keep(index, result);
  if (parts_.observer != nullptr) {
    MutexLock one_at_a_time(observing_);
    parts_.observer->OnDevice(index, result);
  }
  {
    MutexLock lock(mutex_);
    runners_[index] = nullptr;
  }
  runner.reset();  // Its processes are gone before another device takes the place.
  MutexLock lock(mutex_);
  results_[index] = std::move(result);
  --running_;
  changed_.notify_all();
}

std::vector<DeviceResult> NodeProbe::RunWholeNode() {
  const std::unique_ptr<NodeTrialRunner> runner =
      parts_.make_node_runner(devices_, WorkloadFor(spec_, devices_.front()));
  const auto told = [this](std::span<const Observation> seen) {
    if (parts_.observer == nullptr) return;
    MutexLock one_at_a_time(observing_);
    for (size_t i = 0; i < seen.size(); ++i) parts_.observer->OnTrial(i, seen[i]);
  };
  std::vector<DeviceResult> results;
  const auto broken = [&](const absl::Status& status) {
    for (const Device& device : devices_) results.push_back(Broken(device, status));
    return results;
  };
  const absl::StatusOr<std::unique_ptr<WholeNode>> node =
      WholeNode::Create(spec_, devices_, *runner, told);
  if (!node.ok()) return broken(node.status());
  {
    MutexLock lock(mutex_);
    runners_.front() = node->get();
    if (stopped_.has_value()) (*node)->Cancel();
  }
  const absl::StatusOr<DeviceResult> whole =
      ProbeDevice(spec_, (*node)->narrowest(), static_cast<int64_t>(devices_.size()), std::nullopt,
                  PartsFor(**node, std::nullopt));
  {
    MutexLock lock(mutex_);
    runners_.front() = nullptr;
  }
  if (!whole.ok()) return broken(whole.status());
  results = (*node)->Split(*whole);
  if (parts_.observer != nullptr) {
    MutexLock one_at_a_time(observing_);
    for (size_t i = 0; i < results.size(); ++i) parts_.observer->OnDevice(i, results[i]);
  }
  return results;
}

DeviceProbeParts NodeProbe::PartsFor(TrialRunner& runner, std::optional<size_t> index) {
  DeviceProbeParts parts{.runner = runner, .clock = parts_.clock};
  parts.stopped = [this] { return stopped(); };
  ProbeObserver* const observer = parts_.observer;
  if (observer == nullptr) return parts;
  parts.on_progress = [this, observer, index](const TrialSpec& trial, const Reply& reply) {
    MutexLock one_at_a_time(observing_);
    const size_t first = index.value_or(0);
    const size_t end = index.has_value() ? first + 1 : devices_.size();
    for (size_t i = first; i < end; ++i) observer->OnProgress(i, trial, reply);
  };
  if (!index.has_value()) return parts;  // Each device's own observation is told elsewhere.
  parts.on_trial = [this, observer, index](const Observation& seen) {
    MutexLock one_at_a_time(observing_);
    observer->OnTrial(*index, seen);
  };
  return parts;
}

DeviceResult NodeProbe::Probe(size_t index, TrialRunner& runner,
                              const std::optional<FirstGuess>& guess) {
  const DeviceProbeParts parts = PartsFor(runner, index);
  const Device& device = devices_[index];
  const auto devices = static_cast<int64_t>(devices_.size());
  absl::StatusOr<DeviceResult> result = spec_.strategy == Strategy::kConfirm
                                            ? ProbeDevice(spec_, device, devices, guess, parts)
                                            : EstimateDevice(spec_, device, devices, parts);
  return result.ok() ? *std::move(result) : Broken(devices_[index], result.status());
}

// What the caller knows, else an identical device's answer, else the cache's.
std::optional<FirstGuess> NodeProbe::Guess(size_t index, DeviceResult& notes) {
  if (spec_.strategy != Strategy::kConfirm) return std::nullopt;
  if (parts_.earlier) {
    std::optional<FirstGuess> known = parts_.earlier(devices_[index]);
    notes.from_cache = known.has_value();
    if (known.has_value()) return known;
  }
  const size_t leader = leaders_[index];
  if (leader != index) {
    const std::optional<FirstGuess> answer = WaitForLeader(leader);
    if (answer.has_value()) notes.shared_search_with = devices_[leader].uuid;
    return answer;
  }
  if (parts_.cache == nullptr) return std::nullopt;
  absl::StatusOr<FirstGuess> kept = parts_.cache->Find(KeyOf(index));
  if (kept.ok()) {
    notes.from_cache = true;
    return *std::move(kept);
  }
  if (!absl::IsNotFound(kept.status())) notes.warnings.emplace_back(kept.status().message());
  return std::nullopt;
}

std::optional<FirstGuess> NodeProbe::WaitForLeader(size_t leader) {
  MutexLock lock(mutex_);
  while (!results_[leader].has_value()) changed_.wait(mutex_);
  return GuessFrom(*results_[leader]);
}

CacheKey NodeProbe::KeyOf(size_t index) const {
  return MakeCacheKey(spec_, devices_[index], parts_.driver_version, parts_.libtorch_version,
                      static_cast<int64_t>(devices_.size()));
}

// Only a search that ran to its end is worth a first guess: one that time cut short would freeze at
// what it had.
void NodeProbe::Keep(size_t index, DeviceResult& result) {
  const std::optional<FirstGuess> guess = GuessFrom(result);
  if (parts_.cache == nullptr || spec_.strategy != Strategy::kConfirm || !guess.has_value()) return;
  const absl::Status kept = parts_.cache->Store(KeyOf(index), *guess);
  if (!kept.ok()) {
    result.warnings.push_back(
        absl::StrCat("the answer was not kept for next time: ", kept.message()));
  }
}

}  // namespace autobatch
