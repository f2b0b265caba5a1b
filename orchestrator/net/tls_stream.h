#ifndef ORCHESTRATOR_NET_TLS_STREAM_H_
#define ORCHESTRATOR_NET_TLS_STREAM_H_

#include <openssl/types.h>
#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// TLS over a socket, with OpenSSL reading and writing the socket itself: Asio's own stream copies
// each byte through buffers in between, four of 17 KiB for each connection. Nothing here waits
// except what returns an awaitable; what is tried says what to wait for before it is tried again.
//
//   while (true) {
//     const TlsStream::Step step = stream.Read(bytes, sizeof bytes);
//     if (!step.wait) break;
//     if (auto error = co_await stream.Wait(*step.wait); error) break;
//   }
class TlsStream {
 public:
  using WaitType = boost::asio::ip::tcp::socket::wait_type;

  // Takes the SSL, whose method says which end this is.
  TlsStream(boost::asio::ip::tcp::socket socket, SSL* ssl);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  SSL* ssl() const { return ssl_; }
  // To close it, which ends every wait, and to use it once TLS has failed.
  boost::asio::ip::tcp::socket& socket() { return socket_; }

  // What came of an attempt: bytes, or an error, or what to wait for.
  struct Step {
    boost::system::error_code error;
    size_t size = 0;
    bool waits = false;
    WaitType wait = WaitType::wait_read;
  };

  // Some bytes, no more than `most`. eof: the peer said good-bye; stream_truncated: it just went.
  Step Read(char* bytes, size_t most);

  // Writes some of `bytes`. After a wait, the same bytes again.
  Step Write(absl::string_view bytes);

  // Says good-bye; done, with size 1, once the good-bye is out.
  Step SayGoodbye();
  bool HeardGoodbye() const;

  // Before the handshake of who speaks first after it: how it ends leaves with the first bytes, or
  // when something is waited for. So the peer wakes up once.
  void HoldBack() { holds_back_ = true; }

  // Of the whole handshake. No deadline of its own.
  boost::asio::awaitable<boost::system::error_code> Handshake();

  // Until another attempt may do something.
  boost::asio::awaitable<boost::system::error_code> Wait(WaitType type);

 private:
  friend struct TlsStreamSocket;

  // As much as the messages of a round mostly have.
  static constexpr size_t kArrived = 2304;

  Step StepOf(int result);
  // Sends `bytes` behind what was held back; how many of `bytes`, or -1 and errno.
  ssize_t SendHeldAnd(absl::string_view bytes);

  boost::asio::ip::tcp::socket socket_;
  SSL* const ssl_;
  // What a wait has read off the socket, and how much of it OpenSSL has taken. A wait that only
  // waits costs as much as one that reads.
  char arrived_[kArrived];
  size_t arrived_size_ = 0;
  size_t taken_ = 0;
  bool reading_ = false;
  // There may be more. The socket is read once beyond that for each wait: mostly nothing more has
  // come, and a peer that sends without end would keep the thread for itself.
  bool may_have_more_;
  bool at_end_ = false;
  int socket_error_ = 0;
  // What was written to be sent with what comes next.
  bool holds_back_ = false;
  std::string held_back_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_STREAM_H_
