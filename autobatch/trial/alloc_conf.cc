#include "autobatch/trial/alloc_conf.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

constexpr absl::string_view kFraction = "per_process_memory_fraction";

// "key:value" pieces; the commas of a list "[256:1,512:2]" belong to its value.
std::vector<absl::string_view> Pieces(absl::string_view conf) {
  std::vector<absl::string_view> pieces;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= conf.size(); ++i) {
    const char c = i < conf.size() ? conf[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (i < conf.size() && (c != ',' || depth > 0)) continue;
    const absl::string_view piece = absl::StripAsciiWhitespace(conf.substr(start, i - start));
    if (!piece.empty()) pieces.push_back(piece);
    start = i + 1;
  }
  return pieces;
}

absl::string_view KeyOf(absl::string_view piece) {
  return absl::StripAsciiWhitespace(piece.substr(0, piece.find(':')));
}

absl::string_view ValueOf(absl::string_view piece) {
  const size_t colon = piece.find(':');
  return colon == absl::string_view::npos ? ""
                                          : absl::StripAsciiWhitespace(piece.substr(colon + 1));
}

}  // namespace

absl::StatusOr<AllocConf> MergeAllocConf(absl::string_view conf, double fraction) {
  AllocConf merged;
  std::vector<std::string> kept;
  for (const absl::string_view piece : Pieces(conf)) {
    if (KeyOf(piece) == "backend" && absl::EqualsIgnoreCase(ValueOf(piece), "cudaMallocAsync")) {
      return absl::FailedPreconditionError(
          "backend:cudaMallocAsync keeps no peaks and knows no limit, so that nothing can be said "
          "of memory with it");
    }
    if (KeyOf(piece) != kFraction) {
      kept.emplace_back(piece);
      continue;
    }
    double own = 0;
    if (absl::SimpleAtod(ValueOf(piece), &own) && own > 0 && own < fraction) {
      fraction = own;
    } else {
      merged.warning = absl::StrCat("your ", piece, " gave way to the budget's ",
                                    absl::StrFormat("%.6f", fraction));
    }
  }
  kept.push_back(
      absl::StrCat(kFraction, ":", absl::StrFormat("%.6f", std::clamp(fraction, 0.0, 1.0))));
  merged.text = absl::StrJoin(kept, ",");
  return merged;
}

bool RefusesMemoryFraction(absl::string_view log) {
  return absl::StrContains(log, "Unrecognized") && absl::StrContains(log, kFraction);
}

}  // namespace autobatch
