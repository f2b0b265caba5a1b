#include "autobatch/report/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/base/units.h"
#include "autobatch/report/markup.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

// The drawing, in units of the viewBox. The left edge leaves room for the enlarged labels of a
// phone.
constexpr double kWidth = 640;
constexpr double kHeight = 380;
constexpr double kLeft = 62;
constexpr double kRight = 622;
constexpr double kTop = 34;
constexpr double kBottom = 322;
constexpr double kMargin = 1.12;

enum class Marker { kExplored, kConfirmed, kVerified, kProfiled, kTooLarge, kSuspected, kFailed };

Marker MarkerOf(const Observation& observation) {
  if (!observation.ok()) {
    switch (observation.failure->kind) {
      case FailureKind::kOutOfMemory:
        return Marker::kTooLarge;
      case FailureKind::kSuspectedOutOfMemory:
        return Marker::kSuspected;
      default:
        return Marker::kFailed;
    }
  }
  switch (observation.trial.purpose) {
    case TrialPurpose::kExplore:
      return Marker::kExplored;
    case TrialPurpose::kConfirm:
      return Marker::kConfirmed;
    case TrialPurpose::kVerify:
      return Marker::kVerified;
    case TrialPurpose::kProfile:
      return Marker::kProfiled;
  }
  return Marker::kExplored;
}

const char* MarkerWords(Marker marker) {
  switch (marker) {
    case Marker::kExplored:
      return "ran (explore)";
    case Marker::kConfirmed:
      return "ran (confirm, fresh process)";
    case Marker::kVerified:
      return "ran (verify)";
    case Marker::kProfiled:
      return "ran (profile)";
    case Marker::kTooLarge:
      return "out of memory";
    case Marker::kSuspected:
      return "suspected out of memory";
    case Marker::kFailed:
      return "failed otherwise";
  }
  return "";
}

// A shape of its own for each, since colours alone do not reach everybody.
std::string MarkerShape(Marker marker, double x, double y) {
  switch (marker) {
    case Marker::kExplored:
      return absl::StrFormat("<circle class=\"ran open\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>", x, y);
    case Marker::kConfirmed:
      return absl::StrFormat("<circle class=\"good\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\"/>", x, y);
    case Marker::kVerified:
      return absl::StrFormat("<path class=\"good\" d=\"M%.1f %.1fl7 7-7 7-7-7z\"/>", x, y - 7);
    case Marker::kProfiled:
      return absl::StrFormat(
          "<rect class=\"ran open\" x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"/>", x - 4.5,
          y - 4.5);
    case Marker::kTooLarge:
      return absl::StrFormat("<path class=\"bad stroke\" d=\"M%.1f %.1fl11 11m0-11l-11 11\"/>",
                             x - 5.5, y - 5.5);
    case Marker::kSuspected:
      return absl::StrFormat(
          "<circle class=\"bad open\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>"
          "<path class=\"bad stroke\" d=\"M%.1f %.1fl6 6m0-6l-6 6\"/>",
          x, y, x - 3, y - 3);
    case Marker::kFailed:
      return absl::StrFormat("<path class=\"odd\" d=\"M%.1f %.1fl7.5 13h-15z\"/>", x, y - 8);
  }
  return "";
}

// Where a trial stands on the memory axis: its peak, and with the allocation that failed on top of
// it when there was one, since that much it would have needed at least. 0 when nothing is known.
double Need(const Observation& observation) {
  double need = static_cast<double>(observation.PeakReserved());
  if (observation.failure.has_value()) {
    need += static_cast<double>(observation.failure->requested_bytes.value_or(0));
  }
  return need;
}

std::string Tooltip(const Observation& observation) {
  std::string text = absl::StrCat("batch ", FormatCount(observation.trial.batch), ", ",
                                  EnumName(observation.trial.purpose), ": ",
                                  observation.ok() ? "ran" : FailureWords(*observation.failure));
  const int64_t peak = observation.PeakReserved();
  absl::StrAppend(&text, ", ", peak > 0 ? "peak " + FormatBytes(peak) : "memory unknown");
  if (observation.step_ms.has_value() && std::isfinite(*observation.step_ms)) {
    absl::StrAppendFormat(&text, ", %.1f ms/step", *observation.step_ms);
  }
  if (observation.failure.has_value() && observation.failure->requested_bytes.has_value()) {
    absl::StrAppend(&text, "; shown at the peak plus the ",
                    FormatBytes(*observation.failure->requested_bytes), " that failed");
  }
  return EscapeHtml(text);
}

// One device's axes and the SVG that grows on them.
class Plot {
 public:
  Plot(const DeviceResult& result, size_t index) : result_(result), index_(index) {
    double batches = 1;
    double bytes = static_cast<double>(result.budget_bytes.value_or(0));
    for (const Observation& observation : result.observations) {
      batches = std::max(batches, static_cast<double>(observation.trial.batch));
      bytes = std::max(bytes, Need(observation));
    }
    batches = std::max(batches, static_cast<double>(AnswerBatch(result).value_or(1)));
    max_batch_ = batches * kMargin;
    max_bytes_ = bytes > 0 ? bytes * kMargin : static_cast<double>(kGiB);
  }

  std::string Draw() {
    Open();
    Axes();
    Fit();
    Budget();
    Answer();
    Points();
    absl::StrAppend(&svg_, "</svg>\n");
    return absl::StrCat("<figure>", svg_, Legend(), "</figure>\n");
  }

 private:
  double X(double batch) const { return kLeft + batch / max_batch_ * (kRight - kLeft); }
  double Y(double bytes) const { return kBottom - bytes / max_bytes_ * (kBottom - kTop); }

  void Open() {
    const std::string address = EscapeHtml(result_.device.address);
    std::string description =
        absl::StrCat("Greatest reserved memory of ", result_.observations.size(),
                     " trials against their batch.");
    if (result_.budget_bytes.has_value()) {
      absl::StrAppend(&description, " Budget ", FormatBytes(*result_.budget_bytes), ".");
    }
    if (const auto batch = AnswerBatch(result_); batch.has_value()) {
      absl::StrAppend(&description, " Batch ", FormatCount(*batch), ": ", StatusWords(result_),
                      ".");
    }
    absl::StrAppend(&description, " The same numbers are in the table of trials.");
    absl::StrAppendFormat(
        &svg_,
        "<svg class=\"plot\" viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"t%d d%d\">"
        "<title id=\"t%d\">Memory against batch on %s</title><desc id=\"d%d\">%s</desc>"
        "<clipPath id=\"c%d\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n",
        kWidth, kHeight, index_, index_, index_, address, index_, description, index_, kLeft, kTop,
        kRight - kLeft, kBottom - kTop);
  }

  void Text(double x, double y, const char* anchor, const char* css, const std::string& text) {
    absl::StrAppendFormat(&svg_,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n",
                          x, y, anchor, css, text);
  }

  void Line(const char* css, double x1, double y1, double x2, double y2) {
    absl::StrAppendFormat(&svg_,
                          "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                          css, x1, y1, x2, y2);
  }

  void Axes() {
    const bool gib = max_bytes_ >= kGiB;
    const double unit = gib ? kGiB : kMiB;
    for (const double tick : NiceTicks(max_bytes_ / unit, 5, 0)) {
      const double y = Y(tick * unit);
      Line("grid", kLeft, y, kRight, y);
      Text(kLeft - 8, y + 4, "end", "tick", absl::StrFormat("%g", tick));
    }
    for (const double tick : NiceTicks(max_batch_, 6, 1)) {
      Line("axis", X(tick), kBottom, X(tick), kBottom + 5);
      Text(X(tick), kBottom + 21, "middle", "tick", FormatCount(static_cast<int64_t>(tick)));
    }
    Line("axis", kLeft, kBottom, kRight, kBottom);
    Text(8, 18, "start", "label", gib ? "reserved memory, GiB" : "reserved memory, MiB");
    Text(kRight, kBottom + 46, "end", "label", "batch, samples");
  }

  bool HasFit() const {
    const std::optional<FitSummary>& fit = result_.fit;
    return fit.has_value() && std::isfinite(fit->floor_bytes + fit->intercept_bytes +
                                            fit->slope_bytes_per_sample + fit->band_bytes);
  }

  // The envelope max(floor, line) has one bend; the band follows it.
  void Fit() {
    if (!HasFit()) return;
    const FitSummary& fit = *result_.fit;
    const auto at = [&](double batch) {
      return std::max(fit.floor_bytes, fit.intercept_bytes + fit.slope_bytes_per_sample * batch);
    };
    std::vector<double> batches = {0};
    if (fit.slope_bytes_per_sample > 0) {
      const double bend = (fit.floor_bytes - fit.intercept_bytes) / fit.slope_bytes_per_sample;
      if (bend > 0 && bend < max_batch_) batches.push_back(bend);
    }
    batches.push_back(max_batch_);
    std::string line;
    std::string upper;
    std::string lower;
    for (const double batch : batches) {
      const auto point = [&](double bytes) {
        return absl::StrFormat("%.1f,%.1f ", X(batch), Y(bytes));
      };
      absl::StrAppend(&line, point(at(batch)));
      absl::StrAppend(&upper, point(at(batch) + fit.band_bytes));
      lower = point(std::max(0.0, at(batch) - fit.band_bytes)) + lower;
    }
    absl::StrAppendFormat(&svg_,
                          "<g clip-path=\"url(#c%d)\"><polygon class=\"band\" points=\"%s%s\"/>"
                          "<polyline class=\"fit\" points=\"%s\"/></g>\n",
                          index_, upper, lower, line);
  }

  void Budget() {
    if (!result_.budget_bytes.has_value()) return;
    const double y = Y(static_cast<double>(*result_.budget_bytes));
    absl::StrAppendFormat(&svg_,
                          "<rect class=\"over\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%.1f\"/>\n",
                          kLeft, kTop, kRight - kLeft, y - kTop);
    Line("budget", kLeft, y, kRight, y);
    Text(kLeft + 8, y - 8, "start", "budget-label",
         absl::StrCat("budget ", FormatBytes(*result_.budget_bytes)));
  }

  void Answer() {
    const std::optional<int64_t> batch = AnswerBatch(result_);
    if (!batch.has_value()) return;
    const bool ran = result_.status != ResultStatus::kEstimated;
    const double x = X(static_cast<double>(*batch));
    Line(ran ? "answer" : "answer guess", x, kTop, x, kBottom);
    // On the side that has the room.
    const bool left = x > (kLeft + kRight) / 2;
    Text(left ? x - 9 : x + 9, kBottom - 12, left ? "end" : "start", "answer-label",
         absl::StrCat(FormatCount(*batch), ran ? " confirmed" : " estimated"));
  }

  void Points() {
    for (const Observation& observation : result_.observations) {
      double bytes = Need(observation);
      // It died before it could tell; at the limit is where it must have been.
      if (bytes == 0 && observation.failure.has_value() &&
          IsMemoryCeiling(observation.failure->kind)) {
        bytes = static_cast<double>(result_.budget_bytes.value_or(0));
      }
      const Marker marker = MarkerOf(observation);
      used_.insert(marker);
      absl::StrAppend(
          &svg_, "<g class=\"point\"><title>", Tooltip(observation), "</title>",
          MarkerShape(marker, X(static_cast<double>(observation.trial.batch)), Y(bytes)), "</g>\n");
    }
  }

  std::string Legend() const {
    std::string html = "<figcaption class=\"legend\">";
    const auto entry = [&](const std::string& shape, const std::string& words) {
      absl::StrAppend(&html,
                      "<span><svg width=\"22\" height=\"18\" viewBox=\"0 0 22 18\" "
                      "aria-hidden=\"true\">",
                      shape, "</svg>", words, "</span>\n");
    };
    for (const Marker marker : used_) entry(MarkerShape(marker, 11, 9), MarkerWords(marker));
    if (HasFit()) {
      entry(
          "<rect class=\"band\" y=\"3\" width=\"22\" height=\"12\"/>"
          "<line class=\"fit\" x1=\"0\" y1=\"9\" x2=\"22\" y2=\"9\"/>",
          absl::StrCat("fit ± ", FormatBytes(static_cast<int64_t>(result_.fit->band_bytes))));
    } else {
      absl::StrAppend(&html, "<span>no fit</span>\n");
    }
    return absl::StrCat(html, "</figcaption>");
  }

  const DeviceResult& result_;
  const size_t index_;
  double max_batch_ = 1;
  double max_bytes_ = 1;
  std::string svg_;
  std::set<Marker> used_;
};

}  // namespace

std::vector<double> NiceTicks(double max, int count, double least) {
  const double raw = max / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double factor = raw / power;
  double step = power * (factor < 1.5 ? 1 : factor < 3.2 ? 2 : factor < 7 ? 5 : 10);
  step = std::max(step, least);
  std::vector<double> ticks;
  for (int i = 0; i * step <= max; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string MemoryPlot(const DeviceResult& result, size_t index) {
  const bool observed =
      std::any_of(result.observations.begin(), result.observations.end(),
                  [](const Observation& observation) { return Need(observation) > 0; });
  // Without any byte on it the memory axis would be made up.
  return observed || (result.budget_bytes.has_value() && !result.observations.empty())
             ? Plot(result, index).Draw()
             : "";
}

}  // namespace autobatch
