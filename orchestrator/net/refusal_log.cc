#include "orchestrator/net/refusal_log.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace autobatch {
namespace {

constexpr size_t kLongestText = 200;

}  // namespace

absl::string_view RefusalName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kSilent:
      return "went away without a word";
    case Refusal::kForeign:
      return "speaks another protocol";
    case Refusal::kSlow:
      return "took too long";
    case Refusal::kCrowded:
      return "gave way, too many handshakes at once";
    case Refusal::kWrongRun:
      return "belongs to another run";
    case Refusal::kWrongRole:
      return "has the wrong role";
    case Refusal::kWrongSecret:
      return "has another secret";
    case Refusal::kNoCertificate:
      return "has no certificate that holds here";
    case Refusal::kProtocol:
      return "broke off the handshake";
  }
  return "was refused";
}

std::string EscapeForLog(absl::string_view text) {
  std::string line;
  for (char c : text.substr(0, kLongestText)) {
    if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '\\') {
      line.push_back(c);
    } else {
      absl::StrAppendFormat(&line, "\\x%02x", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kLongestText) line += "...";
  return line;
}

RefusalLog::~RefusalLog() {
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (kinds_[kind].kept_back == 0) continue;
    log_(absl::StrCat("turned away ", kinds_[kind].kept_back,
                      " more that each: ", RefusalName(static_cast<Refusal>(kind))));
  }
}

void RefusalLog::Add(Refusal kind, absl::string_view peer, absl::string_view detail,
                     SteadyTime now) {
  Kind& state = kinds_[static_cast<size_t>(kind)];
  ++state.count;
  if (state.burst > 0) {
    --state.burst;
  } else if (now < state.quiet_until) {
    ++state.kept_back;
    return;
  }
  state.quiet_until = autobatch::Add(now, kPause);
  std::string line = absl::StrCat("turned away ", EscapeForLog(peer), ": it ", RefusalName(kind));
  if (!detail.empty()) absl::StrAppend(&line, " (", EscapeForLog(detail), ")");
  if (state.kept_back > 0) {
    absl::StrAppend(&line, "; and so did ", state.kept_back, " others since the last such line");
  }
  state.kept_back = 0;
  log_(line);
}

}  // namespace autobatch
