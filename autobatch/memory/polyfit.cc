#include "autobatch/memory/polyfit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"

namespace autobatch {
namespace {

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

bool AllFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

absl::StatusOr<Line> FitLine(std::span<const double> x, std::span<const double> y) {
  if (x.empty()) return absl::InvalidArgumentError("expected non-empty vector for x");
  if (x.size() != y.size()) {
    return absl::InvalidArgumentError("expected x and y to have same length");
  }
  const double x_length = std::sqrt(Dot(x, x));
  const double one_length = std::sqrt(static_cast<double>(x.size()));
  if (!(x_length > 0) || !std::isfinite(x_length)) {
    return absl::InvalidArgumentError("SVD did not converge in Linear Least Squares");
  }
  if (!AllFinite(y)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return Line{nan, nan};
  }

  // Two columns of length one have their singular directions along the sum and the difference, so
  // the decomposition needs no iteration.
  std::vector<double> sum(x.size());
  std::vector<double> difference(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double scaled_x = x[i] / x_length;
    const double scaled_one = 1.0 / one_length;
    sum[i] = scaled_x + scaled_one;
    difference[i] = scaled_x - scaled_one;
  }
  const double sum_square = Dot(sum, sum);
  const double difference_square = Dot(difference, difference);
  const double cutoff = static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon() *
                        std::sqrt(std::max(sum_square, difference_square));
  const double along_sum = std::sqrt(sum_square) > cutoff ? Dot(sum, y) / sum_square : 0;
  const double along_difference =
      std::sqrt(difference_square) > cutoff ? Dot(difference, y) / difference_square : 0;
  return Line{(along_sum + along_difference) / x_length,
              (along_sum - along_difference) / one_length};
}

}  // namespace autobatch
