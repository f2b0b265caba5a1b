// Whatever the reduce program says to its parent, or is told by it, in whatever pieces: no crash,
// and what is taken has the numbers of a reduction and is written as it was read.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "autobatch/trial/line_reader.h"
#include "autobatch/types/json.h"
#include "orchestrator/nccl/reduce_protocol.h"
#include "orchestrator/nccl/reduce_replies.h"
#include "orchestrator/nccl/reduce_request.h"
#include "orchestrator/nccl/unique_id.h"

namespace {

using autobatch::FromJson;
using autobatch::ToJson;

template <typename T>
void CheckSameAgain(const T& value) {
  const std::string written = ToJson(value);
  const auto again = FromJson<T>(written);
  if (!again.ok() || ToJson(*again) != written) abort();
}

// All replies, as one text; "!" and why where they end in an error.
std::string Replies(absl::string_view bytes, size_t piece) {
  autobatch::ReduceReplies replies;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    replies.Append(bytes.substr(at, piece));
    while (true) {
      const auto reply = replies.Next();
      if (!reply.ok()) return text + "!" + reply.status().ToString();
      if (!reply->has_value()) break;
      if (!autobatch::CheckReduceReply(**reply).ok()) abort();
      CheckSameAgain(**reply);
      if ((*reply)->answer.has_value() &&
          autobatch::CommunicatorBytes(*(*reply)->answer).value_or(0) < 0) {
        abort();
      }
      text += ToJson(**reply);
    }
  }
  return text;
}

void ReadCommands(absl::string_view bytes) {
  autobatch::LineReader lines(autobatch::kMostReduceLine);
  lines.Append(bytes);
  while (true) {
    const auto line = lines.Next();
    if (!line.ok() || !line->has_value()) return;
    const auto command = FromJson<autobatch::ReduceCommand>(**line);
    if (!command.ok()) continue;
    CheckSameAgain(*command);
    if (!command->request.has_value() || !autobatch::CheckReduceRequest(*command->request).ok())
      continue;
    const autobatch::ReduceRequest& request = *command->request;
    if (!autobatch::UniqueIdFromHex(request.unique_id).ok() || request.devices.empty() ||
        request.rank_base + static_cast<int64_t>(request.devices.size()) > request.world_size) {
      abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (Replies(bytes, 1) != Replies(bytes, size == 0 ? 1 : size)) abort();
  ReadCommands(bytes);
  return 0;
}
