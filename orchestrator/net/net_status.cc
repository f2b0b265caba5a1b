#include "orchestrator/net/net_status.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

// OpenSSL reports an alert of the peer as 1000 plus the alert's number.
bool IsAlert(int reason) { return reason >= SSL_AD_REASON_OFFSET && reason < 1256; }

absl::Status TlsStatus(const boost::system::error_code& error, absl::string_view what) {
  const auto code = static_cast<unsigned long>(error.value());
  const int reason = ERR_GET_REASON(code);
  const char* const text = ERR_reason_error_string(code);
  const std::string message =
      absl::StrCat(what, ": TLS: ", text == nullptr ? error.message() : text);
  if (IsAlert(reason)) {
    return absl::PermissionDeniedError(
        absl::StrCat(message, " (the other side refuses this one; its log says why)"));
  }
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_DIGEST_CHECK_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return absl::PermissionDeniedError(message);
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return absl::DataLossError(absl::StrCat(what, ": the stream was cut short"));
    default:
      return absl::InvalidArgumentError(message);
  }
}

}  // namespace

absl::Status NetStatus(const boost::system::error_code& error, absl::string_view what) {
  namespace asio = boost::asio;
  if (!error) return absl::OkStatus();
  if (error == asio::error::eof) {
    return absl::OutOfRangeError(absl::StrCat(what, ": the peer closed the connection"));
  }
  if (error == asio::ssl::error::stream_truncated) {
    return absl::DataLossError(absl::StrCat(what, ": the stream was cut short"));
  }
  if (error == asio::error::operation_aborted) {
    return absl::CancelledError(absl::StrCat(what, ": cancelled"));
  }
  if (error.category() == asio::error::get_ssl_category()) return TlsStatus(error, what);
  const std::string message = absl::StrCat(what, ": ", error.message());
  if (error == asio::error::address_in_use) return absl::AlreadyExistsError(message);
  if (error == asio::error::access_denied) return absl::PermissionDeniedError(message);
  if (error == boost::system::errc::address_not_available)
    return absl::InvalidArgumentError(message);
  return absl::UnavailableError(message);
}

}  // namespace autobatch
