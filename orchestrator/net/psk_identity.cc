#include "orchestrator/net/psk_identity.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr absl::string_view kAgent = "autobatch1 agent ";
constexpr absl::string_view kCoordinator = "autobatch1 coordinator ";

absl::Status CheckRunId(absl::string_view run_id) {
  if (run_id.empty() || run_id.size() > kMaximumRunId) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run id has 1 to ", kMaximumRunId, " bytes, not ", run_id.size()));
  }
  for (unsigned char c : run_id) {
    if (!absl::ascii_isgraph(c)) {
      return absl::InvalidArgumentError(absl::StrCat("the run id '", absl::CHexEscape(run_id),
                                                     "' has blanks or unprintable characters"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FormatPskIdentity(const PskIdentity& identity) {
  AB_RETURN_IF_ERROR(CheckRunId(identity.run_id));
  return absl::StrCat(identity.role == Role::kAgent ? kAgent : kCoordinator, identity.run_id);
}

absl::StatusOr<PskIdentity> ParsePskIdentity(absl::string_view text) {
  PskIdentity identity;
  if (absl::ConsumePrefix(&text, kCoordinator)) {
    identity.role = Role::kCoordinator;
  } else if (!absl::ConsumePrefix(&text, kAgent)) {
    return absl::InvalidArgumentError("the identity of its key is none of autobatch");
  }
  AB_RETURN_IF_ERROR(CheckRunId(text));
  identity.run_id = std::string(text);
  return identity;
}

}  // namespace autobatch
