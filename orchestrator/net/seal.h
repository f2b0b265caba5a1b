#ifndef ORCHESTRATOR_NET_SEAL_H_
#define ORCHESTRATOR_NET_SEAL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/net/secret.h"

namespace autobatch {

// Bytes -> 64 lower-case hexadecimal digits.
using Seal = std::function<std::string(absl::string_view)>;

// HMAC-SHA256 with a key of the run's secret: only who knows the secret can make or check it.
absl::StatusOr<Seal> MakeKeyedSeal(const Secret& secret);

// Plain SHA-256, where certificates are used and no secret is shared: it finds damage, not forgery.
Seal MakePlainSeal();

// Compares two seals in a time that does not depend on where they differ.
bool SealsEqual(absl::string_view a, absl::string_view b);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_SEAL_H_
