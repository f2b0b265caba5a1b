#include "orchestrator/net/net_status.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;

boost::system::error_code Tls(int reason) {
  return {static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, reason)), asio::error::get_ssl_category()};
}

TEST(NetStatusTest, KnownErrors_CodesThatConnectionsPromise) {
  EXPECT_TRUE(NetStatus({}, "nothing").ok());
  const std::vector<std::pair<boost::system::error_code, absl::StatusCode>> cases = {
      {asio::error::eof, absl::StatusCode::kOutOfRange},
      {asio::ssl::error::stream_truncated, absl::StatusCode::kDataLoss},
      {asio::error::operation_aborted, absl::StatusCode::kCancelled},
      {asio::error::connection_refused, absl::StatusCode::kUnavailable},
      {asio::error::connection_reset, absl::StatusCode::kUnavailable},
      {asio::error::timed_out, absl::StatusCode::kUnavailable},
      {asio::error::address_in_use, absl::StatusCode::kAlreadyExists},
      {asio::error::access_denied, absl::StatusCode::kPermissionDenied},
      {Tls(SSL_R_TLSV1_ALERT_UNKNOWN_CA), absl::StatusCode::kPermissionDenied},
      {Tls(SSL_R_CERTIFICATE_VERIFY_FAILED), absl::StatusCode::kPermissionDenied},
      {Tls(SSL_R_BINDER_DOES_NOT_VERIFY), absl::StatusCode::kPermissionDenied},
      {Tls(SSL_R_UNEXPECTED_EOF_WHILE_READING), absl::StatusCode::kDataLoss},
      {Tls(SSL_R_WRONG_VERSION_NUMBER), absl::StatusCode::kInvalidArgument},
  };
  for (const auto& [error, code] : cases) {
    const absl::Status status = NetStatus(error, "cannot do it");
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.message(), HasSubstr("cannot do it"));
  }
}

}  // namespace
}  // namespace autobatch
