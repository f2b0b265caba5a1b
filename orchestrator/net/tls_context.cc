#include "orchestrator/net/tls_context.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>
#include <new>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/owner_only.h"
#include "orchestrator/net/psk_identity.h"

namespace autobatch {

namespace asio = boost::asio;

struct TlsContext::Keys {
  // Of this run.
  std::string run_id;
  // What a client presents.
  std::string identity;
  Secret key;
};

namespace {

// What is learnt during one handshake; OpenSSL keeps it with the SSL and deletes it.
struct Note {
  std::optional<TlsContext::Refused> refused;
  std::string run_id;
};

void FreeNote(void*, void* note, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Note*>(note);
}

int NoteIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeNote);
  return index;
}

int KeysIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

Note& NoteOf(SSL* ssl) {
  auto* note = static_cast<Note*>(SSL_get_ex_data(ssl, NoteIndex()));
  if (note == nullptr) {
    note = new Note();
    SSL_set_ex_data(ssl, NoteIndex(), note);
  }
  return *note;
}

// The session that stands for an external key (RFC 8446 4.2.11); null without memory.
SSL_SESSION* SessionOfKey(SSL* ssl, absl::string_view key) {
  constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256);
  SSL_SESSION* const session = SSL_SESSION_new();
  if (session == nullptr || cipher == nullptr ||
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                  key.size()) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

// Why an identity is not let in, or nothing.
std::optional<TlsContext::Refused> JudgeIdentity(absl::string_view text,
                                                 const std::string& run_id) {
  const absl::StatusOr<PskIdentity> identity = ParsePskIdentity(text);
  if (!identity.ok()) {
    return TlsContext::Refused{Refusal::kForeign,
                               absl::StrCat(identity.status().message(), ": '", text, "'")};
  }
  if (identity->run_id != run_id) {
    return TlsContext::Refused{
        Refusal::kWrongRun,
        absl::StrCat("it asks for run '", identity->run_id, "', this is '", run_id, "'")};
  }
  if (identity->role != Role::kAgent) {
    return TlsContext::Refused{Refusal::kWrongRole, "it calls as a coordinator"};
  }
  return std::nullopt;
}

boost::system::error_code LastTlsError() {
  return boost::system::error_code(static_cast<int>(ERR_get_error()),
                                   asio::error::get_ssl_category());
}

// The last of OpenSSL's errors as a status that names the file.
absl::Status FileStatus(absl::string_view what, const std::string& path) {
  const std::string text = NetStatus(LastTlsError(), absl::StrCat(what, " ", path)).ToString();
  ERR_clear_error();
  return absl::InvalidArgumentError(text);
}

}  // namespace

TlsContext::TlsContext(bool server)
    : server_(server), context_(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method())) {
  SSL_CTX* const context = context_.native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  // SHA-256 suites only: it is the hash that the external key is bound to.
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256");
  // Those of TLS 1.2 are gone through in every handshake, although none is used.
  SSL_CTX_set_cipher_list(context, "ECDHE-ECDSA-AES128-GCM-SHA256");
  // What both ends would choose anyway; each further offer is looked at in every handshake.
  SSL_CTX_set1_groups_list(context, "X25519");
  // Nor does it pretend to be TLS 1.2, which costs each end a record more.
  SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(context, 0);
  if (server) {
    // OpenSSL wants one as soon as certificates may be asked for.
    constexpr unsigned char kSessionContext[] = "autobatch";
    SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext - 1);
  }
  // Whoever does not present our key has to present a certificate, of a CA that is not there
  // unless one is configured.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

TlsContext::~TlsContext() = default;

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::ForServer(const Credentials& credentials) {
  std::unique_ptr<TlsContext> made(new TlsContext(/*server=*/true));
  AB_RETURN_IF_ERROR(made->Use(credentials, Role::kCoordinator));
  if (made->keys_ != nullptr) {
    AB_ASSIGN_OR_RETURN(const auto caller, ForClient(credentials, Role::kAgent));
    made->Rehearse(*caller);
  }
  return made;
}

void TlsContext::Rehearse(TlsContext& caller) {
  SSL* const server = SSL_new(context_.native_handle());
  SSL* const client = SSL_new(caller.context_.native_handle());
  BIO* servers_end = nullptr;
  BIO* clients_end = nullptr;
  const absl::Cleanup release = [server, client] {
    SSL_free(server);
    SSL_free(client);
    ERR_clear_error();
  };
  if (server == nullptr || client == nullptr ||
      BIO_new_bio_pair(&servers_end, 0, &clients_end, 0) != 1) {
    return;
  }
  SSL_set_bio(server, servers_end, servers_end);
  SSL_set_bio(client, clients_end, clients_end);
  SSL_set_accept_state(server);
  SSL_set_connect_state(client);
  SSL_do_handshake(client);
  SSL_do_handshake(server);
  char byte = 0;
  for (SSL* const end : {client, server}) SSL_write(end, &byte, 1);
  for (SSL* const end : {server, client}) SSL_read(end, &byte, 1);
}

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::ForClient(const Credentials& credentials,
                                                                  Role role) {
  std::unique_ptr<TlsContext> made(new TlsContext(/*server=*/false));
  AB_RETURN_IF_ERROR(made->Use(credentials, role));
  return made;
}

absl::Status TlsContext::Use(const Credentials& credentials, Role role) {
  if (const auto* certificates = std::get_if<Certificates>(&credentials)) {
    return UseCertificates(*certificates);
  }
  const auto& shared = std::get<SharedSecret>(credentials);
  AB_ASSIGN_OR_RETURN(std::string identity, FormatPskIdentity({role, shared.run_id}));
  AB_ASSIGN_OR_RETURN(Secret key, shared.secret.Derive("autobatch tls psk v1"));
  keys_.reset(new Keys{shared.run_id, std::move(identity), std::move(key)});
  SSL_CTX* const context = context_.native_handle();
  SSL_CTX_set_ex_data(context, KeysIndex(), keys_.get());
  // Nothing is signed, and the offer cannot be empty.
  SSL_CTX_set1_sigalgs_list(context, "ed25519");
  SSL_CTX_set_psk_find_session_callback(
      context,
      [](SSL* ssl, const unsigned char* identity, size_t size, SSL_SESSION** session) -> int {
        const auto* keys =
            static_cast<const Keys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), KeysIndex()));
        Note& note = NoteOf(ssl);
        note.refused = JudgeIdentity(
            absl::string_view(reinterpret_cast<const char*>(identity), size), keys->run_id);
        if (!note.refused) {
          note.run_id = keys->run_id;
          *session = SessionOfKey(ssl, keys->key.bytes());
        } else if (unsigned char nobody[32]; RAND_bytes(nobody, sizeof nobody) == 1) {
          // A key that nobody has: the peer sees what it would see with a wrong secret, and learns
          // nothing of which run this is.
          *session =
              SessionOfKey(ssl, absl::string_view(reinterpret_cast<char*>(nobody), sizeof nobody));
        }
        return *session == nullptr ? 0 : 1;
      });
  SSL_CTX_set_psk_use_session_callback(
      context,
      [](SSL* ssl, const EVP_MD* hash, const unsigned char** identity, size_t* size,
         SSL_SESSION** session) -> int {
        const auto* keys =
            static_cast<const Keys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), KeysIndex()));
        *identity = reinterpret_cast<const unsigned char*>(keys->identity.data());
        *size = keys->identity.size();
        *session = SessionOfKey(ssl, keys->key.bytes());
        return *session == nullptr ? 0 : 1;
      });
  return absl::OkStatus();
}

absl::Status TlsContext::UseCertificates(const Certificates& certificates) {
  SSL_CTX* const context = context_.native_handle();
  coordinator_name_ = certificates.coordinator_name;
  if (SSL_CTX_load_verify_file(context, certificates.ca_file.c_str()) != 1) {
    return FileStatus("cannot use the CA's certificate", certificates.ca_file);
  }
  if (SSL_CTX_use_certificate_chain_file(context, certificates.certificate_file.c_str()) != 1) {
    return FileStatus("cannot use the certificate", certificates.certificate_file);
  }
  const int key = open(certificates.key_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (key < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the key ", certificates.key_file));
  }
  const absl::Cleanup close_it = [key] { close(key); };
  AB_RETURN_IF_ERROR(CheckOwnerOnly(key, certificates.key_file));
  // A password would be asked for on the terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_PrivateKey_file(context, certificates.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return FileStatus("cannot use the key", certificates.key_file);
  }
  return absl::OkStatus();
}

std::unique_ptr<TlsStream> TlsContext::MakeStream(asio::ip::tcp::socket socket,
                                                  const std::string& host) {
  SSL* const ssl = SSL_new(context_.native_handle());
  if (ssl == nullptr) throw std::bad_alloc();
  server_ ? SSL_set_accept_state(ssl) : SSL_set_connect_state(ssl);
  if (!server_ && keys_ == nullptr) {
    const std::string& name = coordinator_name_.empty() ? host : coordinator_name_;
    boost::system::error_code no_address;
    asio::ip::make_address(name, no_address);
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
    if (no_address) {
      X509_VERIFY_PARAM_set1_host(wanted, name.data(), name.size());
      SSL_set_tlsext_host_name(ssl, name.c_str());
    } else {
      X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str());
    }
  }
  return std::make_unique<TlsStream>(std::move(socket), ssl);
}

absl::StatusOr<std::string> TlsContext::PeerIdentity(TlsStream& stream) const {
  SSL* const ssl = stream.ssl();
  if (keys_ != nullptr) {
    // A key was used if and only if OpenSSL counts the session as one that both ends knew.
    if (SSL_session_reused(ssl) != 1) {
      return absl::PermissionDeniedError("the peer did not use the run's key");
    }
    return keys_->run_id;
  }
  X509* const certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) {
    return absl::PermissionDeniedError("the peer showed no certificate that holds");
  }
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return EscapeForLog(name);
}

void TlsContext::ForgetKey(TlsStream& stream) const {
  if (keys_ == nullptr) return;
  if (SSL_SESSION* const session = SSL_get_session(stream.ssl()); session != nullptr) {
    constexpr unsigned char kNothing[32] = {};
    SSL_SESSION_set1_master_key(session, kNothing, sizeof kNothing);
  }
}

TlsContext::Refused TlsContext::WhyRefused(TlsStream& stream,
                                           const boost::system::error_code& error) {
  SSL* const ssl = stream.ssl();
  if (Note& note = NoteOf(ssl); note.refused) return *note.refused;
  if (error == asio::error::eof || error == asio::error::connection_reset ||
      error == asio::ssl::error::stream_truncated) {
    return {Refusal::kProtocol, "it went away during the handshake"};
  }
  const std::string detail(NetStatus(error, "handshake").message());
  if (error.category() != asio::error::get_ssl_category()) return {Refusal::kProtocol, detail};
  switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
      return {Refusal::kWrongSecret, ""};
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return {Refusal::kNoCertificate, X509_verify_cert_error_string(SSL_get_verify_result(ssl))};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {Refusal::kNoCertificate, "it sent none"};
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
      return {Refusal::kForeign, absl::StrCat("TLS of something else: ", detail)};
    default:
      return {Refusal::kProtocol, detail};
  }
}

}  // namespace autobatch
