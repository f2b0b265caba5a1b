#include "autobatch/search/fake_curve.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

// Uniform in [-1, 1), the same for the same numbers on every machine.
double HashNoise(uint64_t seed, int64_t batch) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(batch);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

}  // namespace

int64_t FakeCurve::Bytes(int64_t batch) const {
  double bytes =
      std::max(options_.floor_bytes,
               options_.intercept_bytes + options_.slope_bytes * static_cast<double>(batch));
  for (const Jump& jump : options_.jumps) {
    if (batch >= jump.batch) bytes += jump.bytes;
  }
  const double noise =
      batch <= 10 ? std::max(options_.noise, options_.small_batch_noise) : options_.noise;
  bytes *= 1 + noise * HashNoise(options_.seed, batch);
  const auto stair = static_cast<double>(options_.stair_bytes);
  return static_cast<int64_t>(std::ceil(std::max(bytes, 0.0) / stair) * stair);
}

int64_t FakeCurve::TrueMaximum(int64_t budget_bytes, int64_t cap) const {
  int64_t batch = 0;
  while (batch < cap && Bytes(batch + 1) <= budget_bytes) ++batch;
  return batch;
}

Observation FakeCurve::Run(const TrialSpec& trial) {
  Observation observation;
  observation.trial = trial;
  const int64_t room = options_.free_bytes - trial.reserve_bytes;
  const int64_t limit = std::min(room, trial.limit_bytes.value_or(room));
  if (!options_.budget_unknown) {
    observation.budget_bytes = limit;
    observation.free_before_bytes = options_.free_bytes;
  }
  batches_.push_back(trial.batch);
  const int64_t bytes = Bytes(trial.batch);
  if (bytes > limit) {
    observation.trial_ms = options_.start_ms;
    observation.failure = Failure{.kind = FailureKind::kOutOfMemory,
                                  .message = absl::StrCat("tried to allocate ", FormatBytes(bytes)),
                                  .phase = TrialPhase::kForward,
                                  .step = 1,
                                  .requested_bytes = bytes};
  } else {
    const double step_ms =
        std::max(options_.ms_per_step, options_.ms_per_sample * static_cast<double>(trial.batch)) *
        static_cast<double>(trial.accumulation);
    for (int64_t step = 1; step <= trial.steps; ++step) {
      observation.steps.push_back({.step = step, .step_ms = step_ms, .peak = {bytes, bytes}});
    }
    observation.first_step = observation.steady = MemoryPeak{bytes, bytes};
    observation.batch_seen = trial.batch;
    observation.step_ms = step_ms;
    observation.trial_ms =
        (trial.fresh_process ? options_.start_ms : 0) + step_ms * static_cast<double>(trial.steps);
  }
  if (options_.meddle) {
    options_.meddle(observation, std::count(batches_.begin(), batches_.end(), trial.batch));
  }
  return observation;
}

FakeCurve::Options RandomCurve(uint64_t seed, int64_t maximum) {
  // Sums and products of the engine's own numbers: the library's distributions differ by platform.
  std::mt19937_64 engine(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  };
  const auto one_in = [&](uint64_t n) { return engine() % n == 0; };
  FakeCurve::Options curve;
  curve.seed = engine();
  const double budget = static_cast<double>(2 * kGiB) * std::exp2(uniform(0, 5.5));
  curve.free_bytes = static_cast<int64_t>(budget);
  // Parameters and optimizer state; of small models next to nothing.
  curve.intercept_bytes = budget * (one_in(3) ? uniform(0.0005, 0.01) : uniform(0.01, 0.4));
  const auto max = static_cast<double>(maximum);
  curve.slope_bytes = (budget - curve.intercept_bytes) / (max + uniform(0.02, 0.98));
  // The optimizer's step needs more than a small forward pass: flat up to some batch.
  if (one_in(2)) {
    const double flat_to = std::min(uniform(1, 16), 0.5 * max);
    curve.floor_bytes = curve.intercept_bytes + curve.slope_bytes * flat_to;
  }
  const std::vector<int64_t> stairs = {1, 2 * kMiB, 2 * kMiB, 20 * kMiB, 20 * kMiB};
  curve.stair_bytes = stairs[engine() % stairs.size()];
  if (one_in(8)) curve.stair_bytes = static_cast<int64_t>(budget * uniform(0.005, 0.03));
  // Workspaces of other algorithms: more, or less, of the memory at that batch.
  for (uint64_t jumps = one_in(2) ? 0 : 1 + engine() % 3; jumps > 0; --jumps) {
    const double at = std::exp2(uniform(0, std::log2(max) + 0.1));
    const double here = curve.intercept_bytes + curve.slope_bytes * at;
    curve.jumps.push_back({static_cast<int64_t>(std::ceil(at)), here * uniform(-0.05, 0.15)});
  }
  const std::vector<double> noises = {0, 0, 0.001, 0.003, 0.01, 0.02};
  curve.noise = noises[engine() % noises.size()];
  if (one_in(4)) curve.small_batch_noise = uniform(0.02, 0.2);
  return curve;
}

}  // namespace autobatch
