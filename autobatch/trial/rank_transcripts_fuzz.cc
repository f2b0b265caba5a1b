// Whatever the ranks of a command say of its two devices, in whatever pieces: no crash, and no more
// steps than were asked for.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "absl/strings/string_view.h"
#include "autobatch/trial/rank_transcripts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const autobatch::TrialSpec asked;
  autobatch::RankTranscripts ranks(asked, {"GPU-1", "GPU-2"});
  // The first byte is the size of the pieces.
  const size_t piece = 1 + data[0];
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!ranks.Append(text.substr(at, piece), {}).ok()) break;
  }
  ranks.End();
  if (static_cast<int64_t>(ranks.steps().size()) > asked.steps) abort();
  return 0;
}
