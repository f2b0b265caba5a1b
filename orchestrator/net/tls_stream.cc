#include "orchestrator/net/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <climits>
#include <utility>

namespace autobatch {

namespace asio = boost::asio;

// OpenSSL's way to the socket. Its own for sockets would be ended by SIGPIPE where a peer is gone,
// and would ask the socket once more after everything was read.
struct TlsStreamSocket {
  static TlsStream& Of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* bytes, int most) {
    TlsStream& stream = Of(bio);
    BIO_clear_retry_flags(bio);
    if (stream.has_read_) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const ssize_t size = recv(stream.socket_.native_handle(), bytes, most, 0);
    if (size < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        BIO_set_retry_read(bio);
      } else {
        stream.socket_error_ = errno;
      }
      return -1;
    }
    stream.at_end_ = size == 0;
    stream.has_read_ = size > 0;
    return static_cast<int>(size);
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    TlsStream& stream = Of(bio);
    BIO_clear_retry_flags(bio);
    const ssize_t written = send(stream.socket_.native_handle(), bytes, size, MSG_NOSIGNAL);
    if (written >= 0) return static_cast<int>(written);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      BIO_set_retry_write(bio);
    } else {
      stream.socket_error_ = errno;
    }
    return -1;
  }

  static long Control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return Of(bio).at_end_ ? 1 : 0;
    // What is written is on its way.
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* const made =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "autobatch socket");
      BIO_meth_set_read(made, &Read);
      BIO_meth_set_write(made, &Write);
      BIO_meth_set_ctrl(made, &Control);
      return made;
    }();
    return method;
  }
};

TlsStream::TlsStream(asio::ip::tcp::socket socket, SSL* ssl)
    : socket_(std::move(socket)), ssl_(ssl) {
  boost::system::error_code ignored;  // A socket that cannot is closed, and the first read says so.
  socket_.native_non_blocking(true, ignored);
  BIO* const bio = BIO_new(TlsStreamSocket::Method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_read_ahead(ssl_, 1);
  // Without a message under way a connection holds no buffers.
  SSL_set_mode(ssl_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

TlsStream::Step TlsStream::StepOf(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return {.waits = true, .wait = WaitType::wait_read};
    case SSL_ERROR_WANT_WRITE:
      return {.waits = true, .wait = WaitType::wait_write};
    case SSL_ERROR_ZERO_RETURN:
      return {.error = asio::error::eof};
    default:
      break;
  }
  const unsigned long code = ERR_get_error();
  if (socket_error_ != 0) {
    return {.error = {std::exchange(socket_error_, 0), asio::error::get_system_category()}};
  }
  if (at_end_ || code == 0) return {.error = asio::ssl::error::stream_truncated};
  return {.error = {static_cast<int>(code), asio::error::get_ssl_category()}};
}

TlsStream::Step TlsStream::Read(char* bytes, size_t most) {
  ERR_clear_error();
  const int size = SSL_read(ssl_, bytes, static_cast<int>(std::min<size_t>(most, INT_MAX)));
  return size > 0 ? Step{.size = static_cast<size_t>(size)} : StepOf(size);
}

TlsStream::Step TlsStream::Write(absl::string_view bytes) {
  if (bytes.empty()) return {};
  ERR_clear_error();
  const int size =
      SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX)));
  return size > 0 ? Step{.size = static_cast<size_t>(size)} : StepOf(size);
}

TlsStream::Step TlsStream::SayGoodbye() {
  if ((SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0) return {.size = 1};
  ERR_clear_error();
  const int result = SSL_shutdown(ssl_);
  return result >= 0 ? Step{.size = 1} : StepOf(result);
}

bool TlsStream::HeardGoodbye() const {
  return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

asio::awaitable<boost::system::error_code> TlsStream::Handshake() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) co_return boost::system::error_code();
    const Step step = StepOf(result);
    if (!step.waits) co_return step.error;
    if (const boost::system::error_code error = co_await Wait(step.wait); error) co_return error;
  }
}

asio::awaitable<boost::system::error_code> TlsStream::Wait(WaitType type) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto [error] = co_await socket_.async_wait(type, asio::as_tuple(asio::use_awaitable));
  has_read_ = false;
  co_return error;
}

}  // namespace autobatch
