#include "autobatch/search/curve_race.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/memory/profile_units.h"
#include "autobatch/memory/seed.h"
#include "autobatch/memory/ultralytics.h"
#include "autobatch/memory/ultralytics84.h"
#include "autobatch/memory/yolov5.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/search.h"

namespace autobatch {
namespace {

constexpr int64_t kCap = 65536;
constexpr int64_t kExploreSteps = 3;
constexpr int64_t kConfirmSteps = 8;
constexpr double kPrecision = 0.03;

SearchOptions Options() {
  SearchOptions options;
  options.precision = kPrecision;
  options.max_batch = kCap;
  options.explore_steps = kExploreSteps;
  options.confirm_steps = kConfirmSteps;
  // The curve's free memory is the budget: every contestant may use all of it.
  options.budget.device = DeviceKind::kCpu;
  options.budget.headroom_bytes = 0;
  return options;
}

// Counts what trials cost.
class Track {
 public:
  Track(FakeCurve& curve, int64_t free_bytes, RaceRun& run)
      : curve_(curve), free_bytes_(free_bytes), run_(run) {}

  int64_t free_bytes() const { return free_bytes_; }

  Observation Run(const TrialSpec& trial) {
    Observation observation = curve_.Run(trial);
    ++run_.trials;
    run_.samples += trial.batch;
    run_.samples_with_steps += trial.batch * (observation.ok() ? trial.steps : 1);
    return observation;
  }

  bool Runs(int64_t batch, int64_t steps) { return Run({.batch = batch, .steps = steps}).ok(); }

 private:
  FakeCurve& curve_;
  int64_t free_bytes_;
  RaceRun& run_;
};

void Ours(Track track, RaceRun& run) {
  absl::StatusOr<Search> search = Search::Create(Options());
  if (!search.ok()) return;
  while (const std::optional<TrialSpec> trial = search->NextTrial()) {
    search->Observe(track.Run(*trial));
  }
  run.answer = search->outcome().confirmed_batch.value_or(0);
}

// Double until it fails, halve the bracket until it is as narrow as ours, and confirm.
void DoublingBisection(Track track, RaceRun& run) {
  int64_t good = 0;
  int64_t bad = 1;
  while (bad <= kCap && track.Runs(bad, kExploreSteps)) {
    good = bad;
    bad *= 2;
  }
  const auto width = [](int64_t batch) {
    return std::max<int64_t>(1, static_cast<int64_t>(kPrecision * static_cast<double>(batch)));
  };
  while (bad - good > width(good)) {
    const int64_t middle = good + (bad - good) / 2;
    (track.Runs(middle, kExploreSteps) ? good : bad) = middle;
  }
  if (good > 0 && track.Runs(good, kConfirmSteps)) run.answer = good;
}

// What a seed estimator's profiler would find on the curve, in the estimator's own numbers.
template <typename F>
Profile ProfileCurve(Track& track, const ProfileRequest& request, F memory_of) {
  Profile profile;
  for (const int64_t batch : request.batch_sizes) {
    const Observation observation = track.Run(
        {.purpose = TrialPurpose::kProfile, .batch = batch, .steps = request.repetitions});
    profile.memory.push_back(observation.ok() ? std::optional<double>(memory_of(observation))
                                              : std::nullopt);
  }
  return profile;
}

SeedReadings Readings(int64_t free_bytes) {
  return {.name = "curve", .total_bytes = free_bytes, .free_bytes = free_bytes};
}

void Yolov5(Track track, RaceRun& run) {
  const SeedAnswer answer =
      Yolov5AutoBatch({}, Readings(track.free_bytes()), [&](const ProfileRequest& request) {
        return ProfileCurve(track, request, [](const Observation& observation) {
          return Yolov5ProfiledMemory(observation.PeakReserved());
        });
      });
  run.answer = answer.batch.value_or(0);
}

void Ultralytics(Track track, RaceRun& run) {
  const SeedAnswer answer =
      UltralyticsAutoBatch({}, Readings(track.free_bytes()), [&](const ProfileRequest& request) {
        return ProfileCurve(track, request, [&](const Observation& observation) {
          const std::vector<UltralyticsReading> readings(
              request.repetitions, {.after_step_bytes = observation.PeakReserved()});
          return UltralyticsProfiledMemory(readings);
        });
      });
  run.answer = answer.batch.value_or(0);
}

void Ultralytics84(Track track, RaceRun& run) {
  const SeedAnswer answer =
      Ultralytics84AutoBatch({}, Readings(track.free_bytes()), [&](const ProfileRequest& request) {
        return ProfileCurve(track, request, [](const Observation& observation) {
          return Ultralytics84ProfiledMemory(observation.PeakReserved(),
                                             {.batch = observation.trial.batch});
        });
      });
  run.answer = answer.batch.value_or(0);
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

template <typename F>
double PercentileOf(const std::vector<RaceRun>& runs, double share, F f) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RaceRun& run : runs) values.push_back(f(run));
  return Percentile(std::move(values), share);
}

double Cost(const RaceRun& run) {
  return run.answer == 0 ? INFINITY : static_cast<double>(run.samples) / run.answer;
}

double CostWithSteps(const RaceRun& run) {
  return run.answer == 0 ? INFINITY : static_cast<double>(run.samples_with_steps) / run.answer;
}

// Where one sample is more than 5 %, the answer has to be exact.
constexpr int64_t kSmall = 20;

double ExactAmongSmall(const std::vector<RaceRun>& runs) {
  int64_t small = 0;
  int64_t exact = 0;
  for (const RaceRun& run : runs) {
    if (run.true_maximum >= kSmall) continue;
    ++small;
    exact += run.answer >= run.true_maximum;
  }
  return small == 0 ? 1 : static_cast<double>(exact) / small;
}

// Median over the curves.
double RatioToPeer(const std::vector<RaceRun>& ours, const std::vector<RaceRun>& peer,
                   int64_t RaceRun::* samples) {
  std::vector<double> ratios;
  ratios.reserve(ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ratios.push_back(static_cast<double>(ours[i].*samples) / static_cast<double>(peer[i].*samples));
  }
  return Percentile(std::move(ratios), 0.5);
}

}  // namespace

double RaceRun::Fraction() const {
  return std::min(1.0, static_cast<double>(answer) / static_cast<double>(true_maximum));
}

RaceResult RunRace(int curves, uint64_t first_seed) {
  const std::vector<std::pair<std::string, std::function<void(Track, RaceRun&)>>> entries = {
      {"autobatch", Ours},
      {"doubling + bisection", DoublingBisection},
      {"yolov5", Yolov5},
      {"ultralytics 8.3", Ultralytics},
      {"ultralytics 8.4", Ultralytics84}};
  RaceResult result{.curves = curves, .first_seed = first_seed};
  for (const auto& entry : entries) result.contestants.push_back({entry.first, {}});
  for (int i = 0; i < curves; ++i) {
    const double exponent = curves == 1 ? 6 : 12.0 * i / (curves - 1);
    const FakeCurve::Options options =
        RandomCurve(first_seed + i, static_cast<int64_t>(std::exp2(exponent)));
    const int64_t true_maximum = FakeCurve(options).TrueMaximum(options.free_bytes, kCap);
    // Nothing to find: another test's business.
    if (true_maximum == 0) continue;
    for (size_t k = 0; k < entries.size(); ++k) {
      FakeCurve curve(options);
      RaceRun run{.true_maximum = true_maximum};
      entries[k].second(Track(curve, options.free_bytes, run), run);
      run.over_budget = curve.Bytes(run.answer) > options.free_bytes;
      result.contestants[k].runs.push_back(run);
    }
  }
  return result;
}

std::string RaceResult::Table() const {
  std::string table = absl::StrFormat(
      "%d curves, seeds %d to %d, maxima 1 to 4096\n"
      "samples: sum of the batches of all trials; with steps: each times the steps it ran\n"
      "%-22s %28s %6s %6s %18s %22s %14s\n%-22s %9s %9s %8s %6s %6s %9s %8s %11s %10s %7s %6s\n",
      curves, first_seed, first_seed + curves - 1, "", "fraction of true maximum", "over", "exact",
      "samples / answer", "with steps / answer", "trials", "", "median", "p5", "worst", "budget",
      "<20", "median", "p95", "median", "p95", "median", "worst");
  for (const Contestant& contestant : contestants) {
    const std::vector<RaceRun>& runs = contestant.runs;
    const auto fraction = [](const RaceRun& run) { return run.Fraction(); };
    const auto trials = [](const RaceRun& run) { return static_cast<double>(run.trials); };
    absl::StrAppendFormat(
        &table, "%-22s %9.4f %9.4f %8.4f %6d %6.3f %9.2f %8.2f %11.2f %10.2f %7.0f %6.0f\n",
        contestant.name, PercentileOf(runs, 0.5, fraction), PercentileOf(runs, 0.05, fraction),
        PercentileOf(runs, 0, fraction),
        std::count_if(runs.begin(), runs.end(), [](const RaceRun& run) { return run.over_budget; }),
        ExactAmongSmall(runs), PercentileOf(runs, 0.5, Cost), PercentileOf(runs, 0.95, Cost),
        PercentileOf(runs, 0.5, CostWithSteps), PercentileOf(runs, 0.95, CostWithSteps),
        PercentileOf(runs, 0.5, trials), PercentileOf(runs, 1, trials));
  }
  const std::vector<RaceRun>& ours = contestants[0].runs;
  const std::vector<RaceRun>& peer = contestants[1].runs;
  absl::StrAppendFormat(&table,
                        "ours to doubling + bisection, median: samples %.2f, with steps %.2f\n",
                        RatioToPeer(ours, peer, &RaceRun::samples),
                        RatioToPeer(ours, peer, &RaceRun::samples_with_steps));
  return table;
}

std::vector<std::string> RaceResult::BrokenBars() const {
  std::vector<std::string> broken;
  const auto bar = [&](bool holds, absl::string_view what, double found) {
    if (!holds) broken.push_back(absl::StrCat(what, ", found ", found));
  };
  const std::vector<RaceRun>& ours = contestants[0].runs;
  const std::vector<RaceRun>& peer = contestants[1].runs;
  const auto fraction = [](const RaceRun& run) { return run.Fraction(); };
  const double over = PercentileOf(ours, 1, [](const RaceRun& run) { return run.over_budget; });
  bar(over == 0, "no answer over budget", over);
  const double median = PercentileOf(ours, 0.5, fraction);
  bar(median >= 0.97, "97 % of the true maximum in the median", median);
  const double low = PercentileOf(ours, 0.05, fraction);
  bar(low >= 0.95, "95 % of the true maximum at p5", low);
  const double exact = ExactAmongSmall(ours);
  bar(exact >= 0.97, "exact where one sample is more than 5 %, in 97 %", exact);
  const double cost = PercentileOf(ours, 0.5, Cost);
  bar(cost <= 3, "samples at most 3 times the answer, in the median", cost);
  const double cost_with_steps = PercentileOf(ours, 0.5, CostWithSteps);
  bar(cost_with_steps <= 3 * kConfirmSteps,
      "samples with steps at most 3 times the confirming trial, in the median", cost_with_steps);
  const double ratio = RatioToPeer(ours, peer, &RaceRun::samples);
  bar(ratio <= 0.5, "at most half the samples of doubling + bisection, in the median", ratio);
  return broken;
}

}  // namespace autobatch
