// Whatever bytes come, in whatever pieces: no crash, no frame over the limit, and what was read as
// frames is written as the same bytes.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "orchestrator/wire/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte is the size of the pieces.
  const size_t piece_size = 1 + data[0];
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr uint32_t kLimit = 1000;
  autobatch::FrameDecoder decoder(kLimit);
  std::string read;
  for (size_t at = 0; at < text.size(); at += piece_size) {
    absl::string_view piece = text.substr(at, piece_size);
    while (!piece.empty()) {
      const auto frame = decoder.Next(piece);
      if (!frame.ok()) return 0;
      if (!frame->has_value()) continue;
      if ((*frame)->payload.size() > kLimit) abort();
      read += autobatch::EncodeFrame(**frame).value();
    }
  }
  if (text.substr(0, read.size()) != read) abort();
  if (decoder.AtBoundary() != (read.size() == text.size())) abort();
  return 0;
}
