#include "orchestrator/net/tls_connection.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/send_queue.h"
#include "orchestrator/net/wake_timer.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

// Bytes that are taken off the stream at a time.
constexpr size_t kPiece = 4096;

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
        changed_(tasks.executor()),
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
  static asio::awaitable<absl::Status> SayGoodbye(Self self);
  static asio::awaitable<absl::Status> ShutDown(Self self);
  // Writes what the peer takes at once; what then has to be waited for, if anything.
  TlsStream::Step WriteSome();
  // Reads what is there, up to the end of a frame; what has to be waited for without one.
  TlsStream::Step ReadSome(std::optional<absl::StatusOr<Frame>>& frame);
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
  // The frame that is being written, and how much of it is.
  SharedBytes written_;
  size_t written_size_ = 0;
  // The one writer waits; it signals when it has ended.
  bool writing_ = false;
  // Receive() is under way; it signals when it has ended and good-byes are said.
  bool receiving_ = false;
  // No more frames are taken.
  bool finishing_ = false;
  // When the first frame has to be there, and the one that is being written to be gone.
  std::optional<SteadyTime> first_frame_;
  std::optional<SteadyTime> sent_by_;
  Event changed_;
  // One timer for a connection instead of one for each frame.
  WakeTimer overdue_;
  absl::Status closed_;
  FrameDecoder decoder_;
  // What came with the last frame of the next one.
  std::string unread_;
};

const absl::Status& Session::End(absl::Status why) {
  if (closed_.ok()) {
    closed_ = std::move(why);
    queue_.Clear();
    overdue_.Arm(std::nullopt);
    // Ends every read and write that is under way.
    boost::system::error_code ignored;
    stream_->socket().close(ignored);
    changed_.Signal();
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
  if (writing_) return absl::OkStatus();
  // Mostly the peer takes it all at once.
  if (WriteSome().waits) {
    writing_ = true;
    tasks_.Spawn("write", WriteQueued(shared_from_this()));
  }
  return closed_;
}

TlsStream::Step Session::WriteSome() {
  while (closed_.ok() && (written_ != nullptr || !queue_.empty())) {
    if (written_ == nullptr) {
      written_ = queue_.Pop();
      written_size_ = 0;
    }
    const TlsStream::Step step = stream_->Write(absl::string_view(*written_).substr(written_size_));
    if (step.waits) return step;
    if (step.error) End(NetStatus(step.error, "cannot send"));
    written_size_ += step.size;
    if (written_size_ == written_->size()) {
      written_ = nullptr;
      sent_by_.reset();
    }
  }
  return {};
}

asio::awaitable<void> Session::WriteQueued(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (true) {
    const TlsStream::Step step = self->WriteSome();
    if (!step.waits) break;
    if (!self->sent_by_.has_value()) {
      self->sent_by_ = Add(self->timers_.Now(), self->limits_.send_timeout);
      self->overdue_.Arm(self->NextDeadline());
    }
    if (const auto error = co_await self->stream_->Wait(step.wait); error) {
      self->End(NetStatus(error, "cannot send"));
    }
  }
  self->writing_ = false;
  self->sent_by_.reset();
  self->changed_.Signal();
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

TlsStream::Step Session::ReadSome(std::optional<absl::StatusOr<Frame>>& frame) {
  char bytes[kPiece];
  absl::string_view piece = unread_;
  while (true) {
    if (piece.empty()) {
      unread_.clear();
      const TlsStream::Step step = stream_->Read(bytes, sizeof bytes);
      if (step.waits || step.error) return step;
      piece = absl::string_view(bytes, step.size);
    }
    absl::StatusOr<std::optional<Frame>> next = decoder_.Next(piece);
    if (!next.ok()) {
      frame = End(std::move(next).status());
      return {};
    }
    if (next->has_value()) {
      frame = **std::move(next);
      unread_ = std::string(piece);
      return {};
    }
  }
}

asio::awaitable<absl::StatusOr<Frame>> Session::Receive(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  self->receiving_ = true;
  const absl::Cleanup received = [&self] {
    self->receiving_ = false;
    if (self->finishing_) self->changed_.Signal();
  };
  boost::system::error_code error;
  while (!error) {
    if (!self->closed_.ok()) co_return self->closed_;
    std::optional<absl::StatusOr<Frame>> frame;
    const TlsStream::Step step = self->ReadSome(frame);
    if (frame.has_value()) co_return *std::move(frame);
    error = step.waits ? co_await self->stream_->Wait(step.wait) : step.error;
  }
  const absl::Status status = NetStatus(error, "cannot receive");
  if (absl::IsOutOfRange(status)) {
    // The peer said good-bye and waits for ours: then it knows that all it sent was read.
    (void)co_await WithDeadline(self->timers_, Add(self->timers_.Now(), self->limits_.send_timeout),
                                absl::StrCat("saying good-bye to ", self->peer_.address),
                                ShutDown(self));
    if (!self->decoder_.AtBoundary()) {
      co_return self->End(absl::DataLossError("the peer closed the connection within a message"));
    }
  }
  co_return self->End(status);
}

asio::awaitable<absl::Status> Session::SayGoodbye(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (self->closed_.ok() && self->writing_) {
    if (!co_await self->changed_.Wait()) co_return absl::CancelledError("finishing was cancelled");
  }
  if (!self->closed_.ok()) co_return self->closed_;
  absl::Status status = co_await ShutDown(self);
  // The peer's good-bye may have ended a Receive() first, and the connection with it.
  co_return absl::IsOutOfRange(self->closed_) ? absl::OkStatus() : std::move(status);
}

// Ends when the peer has said good-bye too, and so has read what was sent.
asio::awaitable<absl::Status> Session::ShutDown(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  boost::system::error_code error;
  for (bool said = false; !said && !error;) {
    const TlsStream::Step step = self->stream_->SayGoodbye();
    said = step.size > 0;
    error = step.waits ? co_await self->stream_->Wait(step.wait) : step.error;
  }
  while (!error && self->closed_.ok() && !self->stream_->HeardGoodbye()) {
    if (self->receiving_) {
      if (!co_await self->changed_.Wait()) {
        co_return absl::CancelledError("saying good-bye was cancelled");
      }
      continue;
    }
    // What still comes is for nobody.
    char bytes[kPiece];
    const TlsStream::Step step = self->stream_->Read(bytes, sizeof bytes);
    error = step.waits ? co_await self->stream_->Wait(step.wait) : step.error;
  }
  if (self->stream_->HeardGoodbye()) co_return absl::OkStatus();
  if (!self->closed_.ok()) co_return self->closed_;
  co_return NetStatus(error, "cannot close");
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
