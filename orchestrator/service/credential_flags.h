#ifndef ORCHESTRATOR_SERVICE_CREDENTIAL_FLAGS_H_
#define ORCHESTRATOR_SERVICE_CREDENTIAL_FLAGS_H_

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/seal.h"

namespace autobatch {

// How the programs of a run prove to each other that they belong to it: a secret, from a file or an
// inherited descriptor, or certificates.
struct CredentialFlags {
  std::string secret_file;
  std::optional<int64_t> secret_descriptor;
  // Used when its CA is named.
  Certificates certificates;
};

boost::program_options::options_description CredentialOptions();

// InvalidArgument: none or several ways are given, or a part of one.
absl::Status ReadCredentialFlags(FlagReader& read, CredentialFlags& flags);

// Reads the secret. Errors of Secret, each with what to do.
absl::StatusOr<Credentials> LoadCredentials(const CredentialFlags& flags,
                                            const std::string& run_id);

// The seal of the run's records and states: keyed where there is a secret.
absl::StatusOr<Seal> MakeSeal(const Credentials& credentials);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_CREDENTIAL_FLAGS_H_
