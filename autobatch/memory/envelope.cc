#include "autobatch/memory/envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

// A dip of less than this share is allocator noise (a cache that rounds); a deeper one means that
// something else held memory while the smaller batch ran.
constexpr double kTolerableFall = 0.05;
// A leading pair that grows by less than this share of the line's slope lies on the floor.
constexpr double kFlatShare = 0.7;
// The band, in samples, may be this share of the largest batch: at the ×4 by which a search may
// extrapolate it is then about 6 % of the answer.
constexpr double kWidestBand = 0.25;

double Secant(const MemoryPoint& a, const MemoryPoint& b) {
  return (static_cast<double>(b.bytes) - static_cast<double>(a.bytes)) /
         (static_cast<double>(b.batch) - static_cast<double>(a.batch));
}

double LeastSquaresSlope(std::span<const MemoryPoint> points) {
  double mean_batch = 0;
  double mean_bytes = 0;
  for (const MemoryPoint& point : points) {
    mean_batch += static_cast<double>(point.batch) / points.size();
    mean_bytes += static_cast<double>(point.bytes) / points.size();
  }
  double covariance = 0;
  double variance = 0;
  for (const MemoryPoint& point : points) {
    const double batch = static_cast<double>(point.batch) - mean_batch;
    covariance += batch * (static_cast<double>(point.bytes) - mean_bytes);
    variance += batch * batch;
  }
  return covariance / variance;
}

// The larger half, but all of up to three points: two of them alone have no residual.
std::span<const MemoryPoint> UpperHalf(std::span<const MemoryPoint> points) {
  return points.last(std::min(points.size(), std::max<size_t>(3, (points.size() + 1) / 2)));
}

double Slope(std::span<const MemoryPoint> points) {
  return std::max(LeastSquaresSlope(UpperHalf(points)),
                  Secant(points[points.size() - 2], points.back()));
}

// In order of batch, the largest bytes of each.
absl::StatusOr<std::vector<MemoryPoint>> Sorted(std::span<const MemoryPoint> points) {
  std::vector<MemoryPoint> sorted(points.begin(), points.end());
  for (const MemoryPoint& point : sorted) {
    if (point.batch < 1 || point.bytes < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("not a memory point: batch ", point.batch, ", ", point.bytes, " bytes"));
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const MemoryPoint& a, const MemoryPoint& b) {
    return a.batch != b.batch ? a.batch < b.batch : a.bytes > b.bytes;
  });
  sorted.erase(
      std::unique(sorted.begin(), sorted.end(),
                  [](const MemoryPoint& a, const MemoryPoint& b) { return a.batch == b.batch; }),
      sorted.end());
  return sorted;
}

absl::Status CheckGrows(std::span<const MemoryPoint> points) {
  if (points.size() < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("a line needs two batches that ran, and there ",
                     points.size() == 1 ? "is " : "are ", points.size()));
  }
  MemoryPoint highest = points.front();
  for (const MemoryPoint& point : points) {
    if (static_cast<double>(point.bytes) <
        static_cast<double>(highest.bytes) * (1 - kTolerableFall)) {
      return absl::FailedPreconditionError(
          absl::StrCat("memory falls from ", FormatBytes(highest.bytes), " at batch ",
                       highest.batch, " to ", FormatBytes(point.bytes), " at batch ", point.batch,
                       ": something else held memory while the smaller batch ran"));
    }
    if (point.bytes >= highest.bytes) highest = point;
  }
  if (points.back().bytes <= points.front().bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("memory does not grow from batch ", points.front().batch, " to batch ",
                     points.back().batch, ": there is no slope to extrapolate"));
  }
  return absl::OkStatus();
}

}  // namespace

double EnvelopeFit::Expected(int64_t batch) const {
  return std::max(summary_.floor_bytes, summary_.intercept_bytes + summary_.slope_bytes_per_sample *
                                                                       static_cast<double>(batch));
}

double EnvelopeFit::Upper(int64_t batch) const {
  // The floor was measured; only the line is uncertain.
  return std::max(summary_.floor_bytes,
                  summary_.intercept_bytes + summary_.band_bytes +
                      summary_.slope_bytes_per_sample * static_cast<double>(batch));
}

int64_t EnvelopeFit::LargestWithin(int64_t bytes) const {
  const double room = static_cast<double>(bytes);
  if (!(Upper(1) <= room)) return 0;
  const double batch =
      (room - summary_.intercept_bytes - summary_.band_bytes) / summary_.slope_bytes_per_sample;
  // 2^63 is the first double that no int64_t holds; a slope of 0 gives infinity.
  if (!(batch < 0x1p63)) return std::numeric_limits<int64_t>::max();
  int64_t largest = std::max<int64_t>(1, static_cast<int64_t>(batch));
  // The division may have rounded across an integer.
  if (Upper(largest) > room) {
    --largest;
  } else if (largest < std::numeric_limits<int64_t>::max() && Upper(largest + 1) <= room) {
    ++largest;
  }
  return largest;
}

absl::StatusOr<EnvelopeFit> FitEnvelope(std::span<const MemoryPoint> points) {
  AB_ASSIGN_OR_RETURN(const std::vector<MemoryPoint> sorted, Sorted(points));
  AB_RETURN_IF_ERROR(CheckGrows(sorted));

  FitSummary fit;
  std::span<const MemoryPoint> line(sorted);
  const double first_slope = Slope(line);
  while (line.size() > 2 && Secant(line[0], line[1]) < kFlatShare * first_slope) {
    fit.floor_bytes = std::max(fit.floor_bytes, static_cast<double>(line[0].bytes));
    line = line.subspan(1);
  }
  fit.points = static_cast<int64_t>(line.size());
  fit.slope_bytes_per_sample = Slope(line);
  if (!(fit.slope_bytes_per_sample > 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("memory does not grow from batch ", line.front().batch, " to batch ",
                     line.back().batch, ": there is no slope to extrapolate"));
  }
  const double last_batch = static_cast<double>(line.back().batch);
  fit.intercept_bytes =
      static_cast<double>(line.back().bytes) - fit.slope_bytes_per_sample * last_batch;
  for (const MemoryPoint& point : UpperHalf(line)) {
    const double on_line =
        fit.intercept_bytes + fit.slope_bytes_per_sample * static_cast<double>(point.batch);
    fit.band_bytes = std::max(fit.band_bytes, std::abs(static_cast<double>(point.bytes) - on_line));
  }
  const double band_samples = fit.band_bytes / fit.slope_bytes_per_sample;
  if (band_samples > kWidestBand * last_batch) {
    return absl::FailedPreconditionError(
        absl::StrCat("the points lie up to ", FormatBytes(static_cast<int64_t>(fit.band_bytes)),
                     " off their line, which is ", std::llround(band_samples),
                     " samples' memory at batch ", line.back().batch, ": too wide to extrapolate"));
  }
  return EnvelopeFit(fit);
}

}  // namespace autobatch
