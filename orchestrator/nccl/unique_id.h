#ifndef AUTOBATCH_NCCL_UNIQUE_ID_H_
#define AUTOBATCH_NCCL_UNIQUE_ID_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

inline constexpr size_t kUniqueIdBytes = 128;

// The bytes of an ncclUniqueId: where the ranks meet, and the secret that they show there.
using UniqueId = std::array<char, kUniqueIdBytes>;

// As it travels: 256 lower-case hex digits.
std::string UniqueIdToHex(const UniqueId& id);

// InvalidArgument: not 256 hex digits. The text is not repeated in the error: it is a secret.
absl::StatusOr<UniqueId> UniqueIdFromHex(absl::string_view hex);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_UNIQUE_ID_H_
