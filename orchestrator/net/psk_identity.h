#ifndef ORCHESTRATOR_NET_PSK_IDENTITY_H_
#define ORCHESTRATOR_NET_PSK_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/net/credentials.h"

namespace autobatch {

// The identity of a pre-shared key, which a client sends in clear: "autobatch1 agent <run id>".
// The role in it keeps one end's words from being played back to the same end.
struct PskIdentity {
  Role role = Role::kAgent;
  std::string run_id;

  bool operator==(const PskIdentity&) const = default;
};

// Longest run id: it stands in logs and file names too.
inline constexpr size_t kMaximumRunId = 128;

// InvalidArgument: the run id is empty, too long, or has blanks or control characters.
absl::StatusOr<std::string> FormatPskIdentity(const PskIdentity& identity);

// InvalidArgument: it is none of ours.
absl::StatusOr<PskIdentity> ParsePskIdentity(absl::string_view text);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_PSK_IDENTITY_H_
