#ifndef ORCHESTRATOR_NET_CREDENTIALS_H_
#define ORCHESTRATOR_NET_CREDENTIALS_H_

#include <string>
#include <variant>

#include "orchestrator/net/secret.h"

namespace autobatch {

// Which end of a run a peer is.
enum class Role { kAgent, kCoordinator };

// A secret that all of a run share; TLS's external pre-shared key is derived from it, and the key's
// identity names the role and the run.
struct SharedSecret {
  std::string run_id;
  Secret secret;
};

// Certificates of the user's own CA, asked of both sides. Paths of PEM files; the key's must be
// readable by its owner only.
struct Certificates {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  // The name or address that the coordinator's certificate must bear; empty: the one dialled.
  std::string coordinator_name;
};

using Credentials = std::variant<SharedSecret, Certificates>;

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_CREDENTIALS_H_
