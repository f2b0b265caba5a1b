#include "orchestrator/service/ask_agent.h"

#include <sys/un.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;

constexpr auto kCompletion = asio::as_tuple(asio::use_awaitable);
constexpr size_t kLongestReply = size_t{1} << 20;
constexpr std::chrono::milliseconds kFirstPause(20);
constexpr std::chrono::milliseconds kLongestPause(500);

// What the attempts came to.
struct Outcome {
  std::optional<absl::StatusOr<WorkerReply>> answer;
  // The last attempt that may be repeated.
  std::string seen = "nothing was tried";
};

// The agent is to answer "no record" a little before we give up on it.
int64_t WaitMilliseconds(SteadyTime deadline) {
  const absl::Duration left =
      std::min(Between(std::chrono::steady_clock::now(), deadline), absl::Hours(24 * 365));
  const absl::Duration answered_before = std::min(left / 10, absl::Milliseconds(500));
  return std::max<int64_t>(0, absl::ToInt64Milliseconds(left - answered_before));
}

absl::StatusOr<WorkerReply> ReadReply(absl::string_view line, const std::string& path) {
  absl::StatusOr<WorkerReply> reply = FromJson<WorkerReply>(line);
  const bool granted = reply.ok() && reply->verdict == WorkerVerdict::kGranted;
  if (!reply.ok() || reply->schema != kWorkerReplySchema || granted != reply->share.has_value()) {
    return absl::DataLossError(
        absl::StrCat("what answers at ", path, " is no agent that this program understands",
                     reply.ok() ? absl::StrCat(": schema '", reply->schema, "'")
                                : absl::StrCat(": ", reply.status().message())));
  }
  return reply;
}

// One question; leaves `outcome.answer` empty where another attempt may do better.
asio::awaitable<void> AskOnce(std::string path, WorkerRequest request, SteadyTime deadline,
                              Outcome& outcome) {
  stream_protocol::socket socket(co_await asio::this_coro::executor);
  const auto [refused] =
      co_await socket.async_connect(stream_protocol::endpoint(path), kCompletion);
  if (refused == asio::error::access_denied) {
    outcome.answer = absl::PermissionDeniedError(
        absl::StrCat("the agent's socket ", path, " is not ours to use: ", refused.message()));
    co_return;
  }
  if (refused) {
    outcome.seen = absl::StrCat("cannot connect: ", refused.message());
    co_return;
  }
  outcome.seen = "connected, without an answer";
  request.wait_ms = WaitMilliseconds(deadline);
  const std::string line = ToJson(request) + "\n";
  // An agent that is busy may answer and hang up before it has heard us out.
  co_await asio::async_write(socket, asio::buffer(line), kCompletion);
  std::string text;
  const auto [unread, size] = co_await asio::async_read_until(
      socket, asio::dynamic_buffer(text, kLongestReply), '\n', kCompletion);
  if (unread) {
    outcome.seen = absl::StrCat("the agent hung up without an answer: ", unread.message());
    co_return;
  }
  absl::StatusOr<WorkerReply> reply = ReadReply(absl::string_view(text).substr(0, size), path);
  if (reply.ok() && reply->verdict == WorkerVerdict::kBusy) {
    outcome.seen = reply->message;
    co_return;
  }
  outcome.answer = std::move(reply);
}

asio::awaitable<void> AskUntilAnswered(std::string path, WorkerRequest request, SteadyTime deadline,
                                       Outcome& outcome) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  std::chrono::milliseconds length = kFirstPause;
  while (true) {
    co_await AskOnce(path, request, deadline, outcome);
    if (outcome.answer.has_value()) co_return;
    pause.expires_after(length);
    co_await pause.async_wait(kCompletion);
    length = std::min(2 * length, kLongestPause);
  }
}

}  // namespace

absl::StatusOr<WorkerReply> AskAgent(const std::string& path, WorkerRequest request,
                                     SteadyTime deadline) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the agent's socket '", path, "': a path of 1 to ",
                     sizeof(sockaddr_un::sun_path) - 1, " bytes is needed"));
  }
  Outcome outcome;
  asio::io_context io(1);
  asio::co_spawn(io, AskUntilAnswered(path, std::move(request), deadline, outcome),
                 [](const std::exception_ptr& broken) {
                   if (broken) std::rethrow_exception(broken);
                 });
  io.run_until(deadline);
  if (outcome.answer.has_value()) return *std::move(outcome.answer);
  return absl::DeadlineExceededError(
      absl::StrCat("no answer from the agent at ", path, " in time: ", outcome.seen));
}

}  // namespace autobatch
