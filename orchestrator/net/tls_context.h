#ifndef ORCHESTRATOR_NET_TLS_CONTEXT_H_
#define ORCHESTRATOR_NET_TLS_CONTEXT_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/refusal_log.h"
#include "orchestrator/net/tls_stream.h"

namespace autobatch {

// How one end of a run proves who it is, and what it asks of the other: TLS 1.3 only, forward
// secret, without tickets, resumption or early data, so that no session can be replayed.
class TlsContext {
 public:
  // For listening as a run's coordinator. InvalidArgument or PermissionDenied: credentials that
  // cannot be used; the text names the file.
  static absl::StatusOr<std::unique_ptr<TlsContext>> ForServer(const Credentials& credentials);
  // For calling as `role`.
  static absl::StatusOr<std::unique_ptr<TlsContext>> ForClient(const Credentials& credentials,
                                                               Role role);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A stream before its handshake. `host` is what the client dialled. The context outlives it.
  std::unique_ptr<TlsStream> MakeStream(boost::asio::ip::tcp::socket socket,
                                        const std::string& host = "");

  // Who the peer proved to be, after a handshake: the run id or the certificate's name. Error: the
  // handshake went well without proof (which this never lets happen).
  absl::StatusOr<std::string> PeerIdentity(TlsStream& stream) const;

  // After a handshake: OpenSSL would keep the run's key as long as the connection lives,
  // in memory that a core dump shows, and nothing needs it any more.
  void ForgetKey(TlsStream& stream) const;

  struct Refused {
    Refusal kind;
    std::string detail;
  };
  // Why a server's handshake failed with this error, for the log only.
  static Refused WhyRefused(TlsStream& stream, const boost::system::error_code& error);

 private:
  struct Keys;
  explicit TlsContext(bool server);
  // A handshake with `caller` in memory: OpenSSL looks most of what it uses up when it first does,
  // and the first agents of a run would wait for that.
  void Rehearse(TlsContext& caller);
  absl::Status Use(const Credentials& credentials, Role role);
  absl::Status UseCertificates(const Certificates& certificates);

  bool server_;
  boost::asio::ssl::context context_;
  // Set with a shared secret; OpenSSL's callbacks find it through the context.
  std::unique_ptr<Keys> keys_;
  std::string coordinator_name_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_CONTEXT_H_
