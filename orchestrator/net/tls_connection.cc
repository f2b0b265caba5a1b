#include "orchestrator/net/tls_connection.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/send_queue.h"
#include "orchestrator/net/wake_timer.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
constexpr auto kCompletion = asio::as_tuple(asio::use_awaitable);

// What the connection and its coroutines share; it lives until the last of them has ended.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(TaskGroup& tasks, Timers& timers, std::shared_ptr<TlsContext> context,
          std::unique_ptr<TlsStream> stream, Peer peer, StreamLimits limits, SteadyTime first_frame)
      : tasks_(tasks),
        timers_(timers),
        context_(std::move(context)),
        stream_(std::move(stream)),
        peer_(std::move(peer)),
        limits_(limits),
        queue_(limits),
        first_frame_(first_frame),
        written_(tasks.executor()),
        overdue_(tasks, timers, [this] { EndIfOverdue(); }) {
    if (first_frame != SteadyTime::max()) overdue_.Arm(first_frame);
  }

  const Peer& peer() const { return peer_; }

  absl::Status Send(SharedBytes frame);
  void Admit();
  void Close(absl::Status why);

  // Static, since a coroutine keeps what it works on alive by its parameters.
  static asio::awaitable<absl::StatusOr<Frame>> Receive(std::shared_ptr<Session> self);
  static asio::awaitable<absl::Status> Finish(std::shared_ptr<Session> self, SteadyTime deadline);

 private:
  using Self = std::shared_ptr<Session>;
  static asio::awaitable<void> WriteQueued(Self self);
  static asio::awaitable<absl::StatusOr<size_t>> ReadSome(Self self);
  static asio::awaitable<absl::Status> SayGoodbye(Self self);
  static asio::awaitable<absl::Status> ShutDown(Self self);
  // Ends the connection, unless it has ended before; says why it did.
  const absl::Status& End(absl::Status why);
  void EndIfOverdue();
  std::optional<SteadyTime> NextDeadline() const;

  TaskGroup& tasks_;
  Timers& timers_;
  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<TlsStream> stream_;
  Peer peer_;
  StreamLimits limits_;
  SendQueue queue_;
  // The one writer runs, and signals when it has ended.
  bool writing_ = false;
  // No more frames are taken.
  bool finishing_ = false;
  // When the first frame has to be there, and the one that is being written to be gone.
  std::optional<SteadyTime> first_frame_;
  std::optional<SteadyTime> sent_by_;
  Event written_;
  // One timer for a connection instead of one for each frame.
  WakeTimer overdue_;
  absl::Status closed_;
  FrameDecoder decoder_;
  std::array<char, 4096> buffer_;
  // Of the buffer, what was not decoded yet.
  absl::string_view rest_;
};

const absl::Status& Session::End(absl::Status why) {
  if (closed_.ok()) {
    closed_ = std::move(why);
    queue_.Clear();
    // Ends every read and write that is under way.
    boost::system::error_code ignored;
    stream_->lowest_layer().close(ignored);
    written_.Signal();
  }
  return closed_;
}

void Session::Close(absl::Status why) {
  End(why.ok() ? absl::CancelledError("the connection was closed on this side") : std::move(why));
}

void Session::Admit() {
  decoder_.set_payload_limit(kMemberPayloadLimit);
  first_frame_.reset();
}

absl::Status Session::Send(SharedBytes frame) {
  if (!closed_.ok()) return closed_;
  if (finishing_ || tasks_.cancelled()) return absl::CancelledError("the connection is closing");
  if (absl::Status pushed = queue_.Push(std::move(frame)); !pushed.ok()) return End(pushed);
  if (!writing_) {
    writing_ = true;
    tasks_.Spawn("write", WriteQueued(shared_from_this()));
  }
  return absl::OkStatus();
}

asio::awaitable<void> Session::WriteQueued(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (self->closed_.ok() && !self->queue_.empty()) {
    self->sent_by_ = Add(self->timers_.Now(), self->limits_.send_timeout);
    self->overdue_.Arm(self->NextDeadline());
    const SharedBytes frame = self->queue_.Pop();
    const auto [error, size] =
        co_await asio::async_write(*self->stream_, asio::buffer(*frame), kCompletion);
    self->sent_by_.reset();
    if (error) self->End(NetStatus(error, "cannot send"));
  }
  self->writing_ = false;
  self->written_.Signal();
}

std::optional<SteadyTime> Session::NextDeadline() const {
  if (!first_frame_.has_value()) return sent_by_;
  return sent_by_.has_value() ? std::min(*first_frame_, *sent_by_) : *first_frame_;
}

// Ends the read or write that waits, and with it the connection.
void Session::EndIfOverdue() {
  const SteadyTime now = timers_.Now();
  if (first_frame_.has_value() && now >= *first_frame_) {
    End(absl::DeadlineExceededError("the peer's first message: not done in time"));
  } else if (sent_by_.has_value() && now >= *sent_by_) {
    End(absl::DeadlineExceededError(
        absl::StrCat("sending to ", peer_.address, ": not done in time")));
  } else {
    overdue_.Arm(NextDeadline());
  }
}

asio::awaitable<absl::StatusOr<size_t>> Session::ReadSome(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto [error, size] =
      co_await self->stream_->async_read_some(asio::buffer(self->buffer_), kCompletion);
  if (error) co_return NetStatus(error, "cannot receive");
  co_return size;
}

asio::awaitable<absl::StatusOr<Frame>> Session::Receive(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    if (!self->closed_.ok()) co_return self->closed_;
    if (!self->rest_.empty()) {
      absl::StatusOr<std::optional<Frame>> frame = self->decoder_.Next(self->rest_);
      if (!frame.ok()) co_return self->End(std::move(frame).status());
      if (frame->has_value()) co_return **std::move(frame);
    }
    absl::StatusOr<size_t> size = co_await ReadSome(self);
    if (size.ok()) {
      self->rest_ = absl::string_view(self->buffer_.data(), *size);
      continue;
    }
    if (absl::IsOutOfRange(size.status())) {
      // The peer said good-bye and waits for ours: then it knows that all it sent was read.
      (void)co_await WithDeadline(
          self->timers_, Add(self->timers_.Now(), self->limits_.send_timeout),
          absl::StrCat("saying good-bye to ", self->peer_.address), ShutDown(self));
      if (!self->decoder_.AtBoundary()) {
        co_return self->End(absl::DataLossError("the peer closed the connection within a message"));
      }
    }
    co_return self->End(std::move(size).status());
  }
}

asio::awaitable<absl::Status> Session::SayGoodbye(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (self->closed_.ok() && self->writing_) {
    if (!co_await self->written_.Wait()) co_return absl::CancelledError("finishing was cancelled");
  }
  if (!self->closed_.ok()) co_return self->closed_;
  absl::Status status = co_await ShutDown(self);
  // The peer's good-bye may have ended a Receive() first, and the connection with it.
  co_return absl::IsOutOfRange(self->closed_) ? absl::OkStatus() : std::move(status);
}

// Ends when the peer has said good-bye too, and so has read what was sent.
asio::awaitable<absl::Status> Session::ShutDown(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto [error] = co_await self->stream_->async_shutdown(kCompletion);
  // Not by the error: beside a pending read, Asio 1.81 says "cancelled" of a good-bye that went
  // well.
  if ((SSL_get_shutdown(self->stream_->native_handle()) & SSL_RECEIVED_SHUTDOWN) != 0) {
    co_return absl::OkStatus();
  }
  co_return error ? NetStatus(error, "cannot close")
                  : absl::DataLossError("the peer did not say good-bye");
}

asio::awaitable<absl::Status> Session::Finish(Self self, SteadyTime deadline) {
  co_await asio::this_coro::throw_if_cancelled(false);
  self->finishing_ = true;
  absl::Status status = co_await WithDeadline(
      self->timers_, deadline, absl::StrCat("saying good-bye to ", self->peer_.address),
      SayGoodbye(self));
  self->Close(status);
  co_return status;
}

class TlsConnection final : public Connection {
 public:
  explicit TlsConnection(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~TlsConnection() override { session_->Close(absl::OkStatus()); }

  const Peer& peer() const override { return session_->peer(); }
  absl::Status Send(SharedBytes frame) override { return session_->Send(std::move(frame)); }
  asio::awaitable<absl::StatusOr<Frame>> Receive() override { return Session::Receive(session_); }
  void Admit() override { session_->Admit(); }
  asio::awaitable<absl::Status> Finish(SteadyTime deadline) override {
    return Session::Finish(session_, deadline);
  }
  void Close(absl::Status why) override { session_->Close(std::move(why)); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<Connection> MakeTlsConnection(TaskGroup& tasks, Timers& timers,
                                              std::shared_ptr<TlsContext> context,
                                              std::unique_ptr<TlsStream> stream, Peer peer,
                                              StreamLimits limits, SteadyTime first_frame) {
  return std::make_unique<TlsConnection>(std::make_shared<Session>(
      tasks, timers, std::move(context), std::move(stream), std::move(peer), limits, first_frame));
}

}  // namespace autobatch
