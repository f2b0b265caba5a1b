#include "orchestrator/net/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace autobatch {

namespace asio = boost::asio;

namespace {

// Of whatever this thread has done before. To look is much less work than to clear.
void ForgetErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

// OpenSSL's way to the socket. Its own for sockets would be ended by SIGPIPE where a peer is gone,
// and would ask the socket once more after everything was read.
struct TlsStreamSocket {
  static TlsStream& Of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* bytes, int most) {
    TlsStream& stream = Of(bio);
    BIO_clear_retry_flags(bio);
    if (stream.taken_ < stream.arrived_size_) {
      const size_t size = std::min(stream.arrived_size_ - stream.taken_, static_cast<size_t>(most));
      std::memcpy(bytes, stream.arrived_ + stream.taken_, size);
      stream.taken_ += size;
      return static_cast<int>(size);
    }
    if (stream.at_end_) return 0;
    if (!std::exchange(stream.may_have_more_, false)) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const ssize_t size = recv(stream.socket_.native_handle(), bytes, most, MSG_DONTWAIT);
    if (size < 0) {
      if (WouldWait()) {
        BIO_set_retry_read(bio);
      } else {
        stream.socket_error_ = errno;
      }
      return -1;
    }
    stream.at_end_ = size == 0;
    return static_cast<int>(size);
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    TlsStream& stream = Of(bio);
    BIO_clear_retry_flags(bio);
    const absl::string_view written(bytes, static_cast<size_t>(size));
    if (stream.holds_back_) {
      stream.held_back_.append(bytes, written.size());
      return size;
    }
    const ssize_t sent = stream.SendHeldAnd(written);
    if (sent >= 0) return static_cast<int>(sent);
    if (WouldWait()) {
      BIO_set_retry_write(bio);
    } else {
      stream.socket_error_ = errno;
    }
    return -1;
  }

  static bool WouldWait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

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

// A server makes a stream once something has come, and answers at once.
TlsStream::TlsStream(asio::ip::tcp::socket socket, SSL* ssl)
    : socket_(std::move(socket)), ssl_(ssl), may_have_more_(SSL_is_server(ssl) == 1) {
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
  // OpenSSL would take 17 KiB of memory to find that out.
  const bool something = taken_ < arrived_size_ || may_have_more_ || at_end_ ||
                         SSL_has_pending(ssl_) == 1 || HeardGoodbye();
  if (!something) return {.waits = true, .wait = WaitType::wait_read};
  ForgetErrors();
  const int size = SSL_read(ssl_, bytes, static_cast<int>(std::min<size_t>(most, INT_MAX)));
  return size > 0 ? Step{.size = static_cast<size_t>(size)} : StepOf(size);
}

TlsStream::Step TlsStream::Write(absl::string_view bytes) {
  if (bytes.empty()) return {};
  holds_back_ = false;
  ForgetErrors();
  const int size =
      SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX)));
  return size > 0 ? Step{.size = static_cast<size_t>(size)} : StepOf(size);
}

TlsStream::Step TlsStream::SayGoodbye() {
  if ((SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0) return {.size = 1};
  holds_back_ = false;
  ForgetErrors();
  const int result = SSL_shutdown(ssl_);
  return result >= 0 ? Step{.size = 1} : StepOf(result);
}

bool TlsStream::HeardGoodbye() const {
  return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

asio::awaitable<boost::system::error_code> TlsStream::Handshake() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    ForgetErrors();
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) co_return boost::system::error_code();
    const Step step = StepOf(result);
    if (!step.waits) {
      // The peer may be told why.
      SendHeldAnd("");
      co_return step.error;
    }
    if (const boost::system::error_code error = co_await Wait(step.wait); error) co_return error;
  }
}

ssize_t TlsStream::SendHeldAnd(absl::string_view bytes) {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  const int socket = socket_.native_handle();
  if (held_back_.empty()) {
    return bytes.empty() ? 0 : send(socket, bytes.data(), bytes.size(), kFlags);
  }
  iovec parts[] = {{held_back_.data(), held_back_.size()},
                   {const_cast<char*>(bytes.data()), bytes.size()}};
  const msghdr message{.msg_iov = parts, .msg_iovlen = 2};
  const ssize_t sent = sendmsg(socket, &message, kFlags);
  if (sent < 0) return -1;
  const size_t held = std::min(held_back_.size(), static_cast<size_t>(sent));
  held_back_.erase(0, held);
  const size_t rest = static_cast<size_t>(sent) - held;
  if (rest > 0 || (bytes.empty() && held_back_.empty())) return static_cast<ssize_t>(rest);
  errno = EAGAIN;
  return -1;
}

asio::awaitable<boost::system::error_code> TlsStream::Wait(WaitType type) {
  constexpr auto kCompletion = asio::as_tuple(asio::use_awaitable);
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!held_back_.empty() && SendHeldAnd("") < 0) {
    if (!TlsStreamSocket::WouldWait()) {
      co_return boost::system::error_code(errno, asio::error::get_system_category());
    }
    const auto [error] = co_await socket_.async_wait(WaitType::wait_write, kCompletion);
    if (error) co_return error;
  }
  if (type != WaitType::wait_read || reading_) {
    const auto [error] = co_await socket_.async_wait(type, kCompletion);
    may_have_more_ = true;
    co_return error;
  }
  reading_ = true;
  const auto [error, size] = co_await socket_.async_read_some(asio::buffer(arrived_), kCompletion);
  reading_ = false;
  if (error == asio::error::eof) {
    at_end_ = true;
    co_return boost::system::error_code();
  }
  arrived_size_ = size;
  taken_ = 0;
  may_have_more_ = size == kArrived;
  co_return error;
}

}  // namespace autobatch
