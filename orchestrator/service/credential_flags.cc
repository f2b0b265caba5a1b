#include "orchestrator/service/credential_flags.h"

#include <utility>
#include <variant>

#include "autobatch/base/status_macros.h"
#include "autobatch/probe/flag_group.h"
#include "orchestrator/net/secret.h"

namespace autobatch {

namespace po = boost::program_options;

po::options_description CredentialOptions() {
  return FlagGroup("Who may take part (one of the two, on every node)")
      .Value("secret-file", "FILE",
             "a secret that all of the run share, 16 bytes or more, readable by its owner only; "
             "for example: (umask 077; head -c 32 /dev/urandom | base64 > FILE)")
      .Value("secret-fd", "N", "the same from an inherited descriptor, read to its end")
      .Value("tls-ca", "FILE", "or certificates: of the CA that signed everybody's (PEM)")
      .Value("tls-certificate", "FILE", "this program's certificate")
      .Value("tls-key", "FILE", "and its key, readable by its owner only")
      .Value("tls-coordinator-name", "NAME",
             "what the coordinator's certificate must bear (default: the host that was dialled)");
}

absl::Status ReadCredentialFlags(FlagReader& read, CredentialFlags& flags) {
  read.Path("secret-file", flags.secret_file);
  read.Read("secret-fd", flags.secret_descriptor, WholeNumber);
  read.Path("tls-ca", flags.certificates.ca_file);
  read.Path("tls-certificate", flags.certificates.certificate_file);
  read.Path("tls-key", flags.certificates.key_file);
  read.Text("tls-coordinator-name", flags.certificates.coordinator_name);
  AB_RETURN_IF_ERROR(read.status());
  const bool any_of_tls = !flags.certificates.ca_file.empty() ||
                          !flags.certificates.certificate_file.empty() ||
                          !flags.certificates.key_file.empty();
  const int ways = (flags.secret_file.empty() ? 0 : 1) +
                   (flags.secret_descriptor.has_value() ? 1 : 0) + (any_of_tls ? 1 : 0);
  if (ways == 0) {
    return absl::InvalidArgumentError(
        "who may take part is not said: give --secret-file FILE (or --secret-fd, or certificates "
        "by --tls-ca), the same on every node");
  }
  if (ways > 1) {
    return absl::InvalidArgumentError(
        "--secret-file, --secret-fd and --tls-ca contradict each other: give one of them");
  }
  if (any_of_tls &&
      (flags.certificates.ca_file.empty() || flags.certificates.certificate_file.empty() ||
       flags.certificates.key_file.empty())) {
    return absl::InvalidArgumentError(
        "--tls-ca, --tls-certificate and --tls-key are needed together");
  }
  return absl::OkStatus();
}

absl::StatusOr<Credentials> LoadCredentials(const CredentialFlags& flags,
                                            const std::string& run_id) {
  if (!flags.certificates.ca_file.empty()) return Credentials(flags.certificates);
  AB_ASSIGN_OR_RETURN(Secret secret, flags.secret_descriptor.has_value()
                                         ? Secret::FromDescriptor(*flags.secret_descriptor)
                                         : Secret::FromFile(flags.secret_file));
  return Credentials(SharedSecret{.run_id = run_id, .secret = std::move(secret)});
}

absl::StatusOr<Seal> MakeSeal(const Credentials& credentials) {
  const auto* shared = std::get_if<SharedSecret>(&credentials);
  if (shared == nullptr) return MakePlainSeal();
  return MakeKeyedSeal(shared->secret);
}

}  // namespace autobatch
