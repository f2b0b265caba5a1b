#include "autobatch/search/bracket.h"

#include <algorithm>

namespace autobatch {
namespace {

constexpr double kApart = 1.25;

}  // namespace

void Bracket::AddRan(const Ran& ran) {
  failures_in_a_row_ = 0;
  if (ceiling_.has_value()) ran_below_ceiling_ = true;
  const auto at =
      std::lower_bound(ran_.begin(), ran_.end(), ran,
                       [](const Ran& left, const Ran& right) { return left.batch < right.batch; });
  if (at == ran_.end() || at->batch != ran.batch) {
    ran_.insert(at, ran);
    return;
  }
  at->peak_bytes = std::max(at->peak_bytes, ran.peak_bytes);
  if (ran.rate > 0) at->rate = ran.rate;
}

void Bracket::AddFailed(int64_t batch, BatchBound bound) {
  ++failures_in_a_row_;
  if (!ceiling_.has_value() || batch < ceiling_->batch) ceiling_ = Ceiling{batch, bound};
  if (confirmed_.has_value() && confirmed_->batch >= batch) DropConfirmed();
}

void Bracket::AddConfirmed(const Ran& ran, size_t index) {
  AddRan(ran);
  if (confirmed_.has_value() && confirmed_->batch > ran.batch) return;
  confirmed_ = ran;
  confirmed_index_ = index;
}

void Bracket::DropConfirmed() {
  confirmed_.reset();
  confirmed_index_.reset();
}

std::optional<Bracket::Ran> Bracket::Largest() const {
  for (auto it = ran_.rbegin(); it != ran_.rend(); ++it) {
    if (!ceiling_.has_value() || it->batch < ceiling_->batch) return *it;
  }
  return std::nullopt;
}

std::vector<MemoryPoint> Bracket::Points() const {
  std::vector<MemoryPoint> points;
  for (auto it = ran_.rbegin(); it != ran_.rend(); ++it) {
    if (points.empty() || it->batch * kApart <= points.back().batch) {
      points.push_back({it->batch, it->peak_bytes});
    }
  }
  return points;
}

}  // namespace autobatch
