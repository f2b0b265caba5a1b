#include "orchestrator/plan/capacity.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace autobatch {
namespace {

using Wide = absl::int128;

int64_t Narrow(Wide value) { return static_cast<int64_t>(value); }

}  // namespace

Capacity::Capacity(std::vector<Run> runs) : runs_(std::move(runs)) {
  for (const Run& run : runs_) {
    ranks_ += run.ranks;
    total_ += Wide(run.ranks) * run.batch;
    parts_ = std::gcd(parts_, run.batch);
  }
}

Capacity Capacity::Equal(int64_t ranks, int64_t batch) {
  return Capacity({{.ranks = ranks, .batch = batch}});
}

Capacity Capacity::PerRank(std::span<const int64_t> batches) {
  std::vector<Run> runs;
  for (const int64_t batch : batches) Append(runs, 1, batch);
  return Capacity(std::move(runs));
}

void Capacity::Append(std::vector<Run>& runs, int64_t ranks, int64_t batch) {
  if (ranks == 0) return;
  if (!runs.empty() && runs.back().batch == batch) {
    runs.back().ranks += ranks;
  } else {
    runs.push_back({.ranks = ranks, .batch = batch});
  }
}

int64_t Capacity::MicroSteps(int64_t samples) const {
  return Narrow((Wide(samples) + total_ - 1) / total_);
}

// Each rank's samples: its whole part of the proportion, and what is left over one by one to the
// ranks that lost the largest fraction. Equal ranks lose the same, so that the first of them get
// it.
std::vector<Capacity::Run> Capacity::Proportional(int64_t samples) const {
  struct Part {
    int64_t batch = 0;
    int64_t whole = 0;
    Wide fraction = 0;  // In units of 1 / total_.
    int64_t ranks = 0;
    int64_t extra = 0;
  };
  std::map<int64_t, Part> parts;
  for (const Run& run : runs_) parts[run.batch].ranks += run.ranks;
  Wide left = samples;
  std::vector<Part*> by_fraction;
  for (auto& [batch, part] : parts) {
    const Wide product = Wide(samples) * batch;
    part.batch = batch;
    part.whole = Narrow(product / total_);
    part.fraction = product % total_;
    left -= Wide(part.whole) * part.ranks;
    by_fraction.push_back(&part);
  }
  std::sort(by_fraction.begin(), by_fraction.end(), [](const Part* a, const Part* b) {
    return std::pair(a->fraction, a->batch) > std::pair(b->fraction, b->batch);
  });
  for (Part* part : by_fraction) {
    part->extra = Narrow(std::min<Wide>(left, part->ranks));
    left -= part->extra;
  }
  std::vector<Run> shares;
  for (const Run& run : runs_) {
    Part& part = parts[run.batch];
    const int64_t extra = std::min(part.extra, run.ranks);
    part.extra -= extra;
    Append(shares, extra, part.whole + 1);
    Append(shares, run.ranks - extra, part.whole);
  }
  return shares;
}

std::vector<PlanGroup> Capacity::Spread(int64_t samples, int64_t micro_steps) const {
  std::vector<Run> shares = Proportional(samples);
  const bool any_without =
      std::any_of(shares.begin(), shares.end(), [](const Run& run) { return run.batch == 0; });
  if (any_without && samples >= ranks_) {
    // Small capacities beside large ones: whoever has the most gives one away. Taking runs apart is
    // fine here, for such worlds name every rank already.
    std::vector<int64_t> each;
    for (const Run& run : shares) each.insert(each.end(), run.ranks, run.batch);
    // The most samples first; of equal ones the last rank gives.
    std::vector<std::pair<int64_t, size_t>> heap;
    for (size_t i = 0; i < each.size(); ++i) heap.emplace_back(each[i], i);
    std::make_heap(heap.begin(), heap.end());
    for (int64_t& share : each) {
      if (share != 0) continue;
      share = 1;
      std::pop_heap(heap.begin(), heap.end());
      each[heap.back().second] = --heap.back().first;
      std::push_heap(heap.begin(), heap.end());
    }
    shares.clear();
    for (const int64_t share : each) Append(shares, 1, share);
  }

  std::vector<PlanGroup> groups;
  for (const Run& run : shares) {
    PlanGroup& group = groups.emplace_back();
    group.ranks = run.ranks;
    const int64_t least = run.batch / micro_steps;
    const int64_t more = run.batch % micro_steps;
    if (more > 0) group.steps.push_back({more, least + 1});
    if (more < micro_steps) group.steps.push_back({micro_steps - more, least});
  }
  return groups;
}

}  // namespace autobatch
