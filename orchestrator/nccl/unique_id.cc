#include "orchestrator/nccl/unique_id.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

std::string UniqueIdToHex(const UniqueId& id) {
  return absl::BytesToHexString(absl::string_view(id.data(), id.size()));
}

absl::StatusOr<UniqueId> UniqueIdFromHex(absl::string_view hex) {
  const bool digits = std::all_of(hex.begin(), hex.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (hex.size() != 2 * kUniqueIdBytes || !digits) {
    return absl::InvalidArgumentError(absl::StrCat("the NCCL unique id is not ", 2 * kUniqueIdBytes,
                                                   " hex digits but ", hex.size(),
                                                   digits ? " of them" : " other characters"));
  }
  UniqueId id;
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

}  // namespace autobatch
