#include "orchestrator/service/worker_server.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <cerrno>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
// NOLINTNEXTLINE(misc-unused-using-decls): coroutines use it, which clang-tidy does not see.
using asio::experimental::awaitable_operators::operator||;

constexpr auto kCompletion = asio::as_tuple(asio::use_awaitable);
constexpr size_t kLongestRequest = size_t{64} << 10;
constexpr std::chrono::milliseconds kAcceptPause(100);

// For a timer that is to wake whoever waits on it, now or in a moment.
constexpr SteadyTime kNow = SteadyTime::min();

absl::Status FromCode(const boost::system::error_code& error, absl::string_view doing,
                      absl::string_view path) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot ", doing, " ", path));
}

WorkerReply Refusal(WorkerVerdict verdict, std::string message) {
  return {.verdict = verdict, .message = std::move(message)};
}

SteadyTime In(absl::Duration duration) { return Add(std::chrono::steady_clock::now(), duration); }

}  // namespace

struct WorkerServer::Client {
  explicit Client(Protocol::socket connected)
      : socket(std::move(connected)), woken(socket.get_executor()), limit(socket.get_executor()) {}

  Protocol::socket socket;
  // Expires with the wait for a record, or when the record changed.
  asio::steady_timer woken;
  asio::steady_timer limit;
  bool reading = false;
};

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Listen(asio::io_context& io,
                                                                   WorkerServerOptions options,
                                                                   Answer answer) {
  auto server =
      std::unique_ptr<WorkerServer>(new WorkerServer(io, std::move(options), std::move(answer)));
  AB_RETURN_IF_ERROR(server->Open());
  server->Run(server->AcceptAll());
  return server;
}

WorkerServer::WorkerServer(asio::io_context& io, WorkerServerOptions options, Answer answer)
    : io_(io),
      options_(std::move(options)),
      answer_(std::move(answer)),
      acceptor_(io),
      pause_(io),
      ended_(io) {}

WorkerServer::~WorkerServer() = default;

absl::Status WorkerServer::Open() {
  const std::string& path = options_.path;
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the agent's socket '", path, "': its path has ", path.size(),
                     " bytes, and 1 to ", sizeof(sockaddr_un::sun_path) - 1,
                     " are possible: name a shorter one by --socket, such as /tmp/agent-1.sock"));
  }
  AB_RETURN_IF_ERROR(RemoveStaleSocket());
  boost::system::error_code error;
  acceptor_.open(Protocol(), error);
  if (error) return FromCode(error, "open the socket", path);
  acceptor_.bind(Protocol::endpoint(path), error);
  if (error) return FromCode(error, "bind the socket", path);
  // Nobody can connect before it listens.
  if (chmod(path.c_str(), options_.mode) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot set the mode of ", path));
  }
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return FromCode(error, "listen on", path);
  return absl::OkStatus();
}

absl::Status WorkerServer::RemoveStaleSocket() {
  const std::string& path = options_.path;
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return absl::OkStatus();  // bind() knows better.
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists and is no socket: name another path"));
  }
  Protocol::socket probe(io_);
  boost::system::error_code error;
  probe.open(Protocol(), error);
  if (error) return FromCode(error, "open a socket for", path);
  // A full backlog is a living agent's; it is not to be waited for.
  probe.non_blocking(true, error);
  probe.connect(Protocol::endpoint(path), error);
  if (error != asio::error::connection_refused) {
    return absl::AlreadyExistsError(absl::StrCat("another agent serves at ", path,
                                                 ": end it, or give this one a folder of its own"));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove the stale socket ", path));
  }
  return absl::OkStatus();
}

void WorkerServer::Run(asio::awaitable<void> task) {
  ++running_;
  asio::co_spawn(io_, std::move(task), [this](const std::exception_ptr& broken) {
    --running_;
    ended_.expires_at(kNow);
    if (broken) std::rethrow_exception(broken);
  });
}

void WorkerServer::RecordChanged() {
  for (const std::unique_ptr<Client>& client : clients_) client->woken.expires_at(kNow);
}

asio::awaitable<void> WorkerServer::Stop() {
  leaving_ = true;
  boost::system::error_code ignored;
  if (acceptor_.is_open()) {
    acceptor_.close(ignored);
    unlink(options_.path.c_str());
  }
  pause_.expires_at(kNow);
  RecordChanged();
  for (const std::unique_ptr<Client>& client : clients_) {
    if (client->reading) client->socket.cancel(ignored);
  }
  while (running_ > 0) {
    ended_.expires_at(SteadyTime::max());
    co_await ended_.async_wait(kCompletion);
  }
}

asio::awaitable<void> WorkerServer::AcceptAll() {
  while (!leaving_) {
    auto [error, socket] = co_await acceptor_.async_accept(kCompletion);
    if (leaving_) co_return;
    if (error) {
      // No descriptors or no memory: there will be some when a client is done.
      pause_.expires_after(kAcceptPause);
      co_await pause_.async_wait(kCompletion);
      continue;
    }
    const bool busy = clients_.size() >= options_.max_clients;
    clients_.push_back(std::make_unique<Client>(std::move(socket)));
    Run(Serve(*clients_.back(), busy));
  }
}

asio::awaitable<void> WorkerServer::Serve(Client& client, bool busy) {
  std::optional<WorkerReply> reply;
  if (busy) {
    reply = Refusal(WorkerVerdict::kBusy, absl::StrCat("the agent serves ", options_.max_clients,
                                                       " processes, as many as it may"));
  } else {
    reply = co_await ReplyTo(client);
  }
  if (reply.has_value()) {
    const std::string line = ToJson(*reply) + "\n";
    client.limit.expires_at(In(options_.request_timeout));
    // Whether it arrives is the client's affair.
    co_await (asio::async_write(client.socket, asio::buffer(line), kCompletion) ||
              client.limit.async_wait(kCompletion));
  }
  clients_.remove_if([&client](const auto& other) { return other.get() == &client; });
}

asio::awaitable<std::optional<WorkerReply>> WorkerServer::ReplyTo(Client& client) {
  std::string text;
  client.limit.expires_at(In(options_.request_timeout));
  client.reading = true;
  const auto read =
      co_await (asio::async_read_until(client.socket, asio::dynamic_buffer(text, kLongestRequest),
                                       '\n', kCompletion) ||
                client.limit.async_wait(kCompletion));
  client.reading = false;
  if (leaving_) co_return Refusal(WorkerVerdict::kLeaving, "the agent is being ended");
  if (read.index() == 1) {
    co_return Refusal(
        WorkerVerdict::kBadRequest,
        absl::StrCat("no whole request within ", absl::FormatDuration(options_.request_timeout)));
  }
  const auto [error, size] = std::get<0>(read);
  if (error == asio::error::not_found) {
    co_return Refusal(WorkerVerdict::kBadRequest,
                      absl::StrCat("a request has up to ", kLongestRequest, " bytes"));
  }
  if (error) co_return std::nullopt;
  absl::StatusOr<WorkerRequest> request =
      FromJson<WorkerRequest>(absl::string_view(text).substr(0, size - 1));
  if (!request.ok()) {
    co_return Refusal(WorkerVerdict::kBadRequest, std::string(request.status().message()));
  }
  co_return co_await AnswerInTime(client, *std::move(request));
}

asio::awaitable<std::optional<WorkerReply>> WorkerServer::AnswerInTime(Client& client,
                                                                       WorkerRequest request) {
  const absl::Duration wait =
      std::clamp(absl::Milliseconds(request.wait_ms), absl::ZeroDuration(), options_.longest_wait);
  const SteadyTime until = In(wait);
  while (true) {
    std::optional<WorkerReply> reply = answer_(request);
    if (reply.has_value()) co_return reply;
    if (leaving_) co_return Refusal(WorkerVerdict::kLeaving, "the agent is being ended");
    if (std::chrono::steady_clock::now() >= until) {
      co_return Refusal(WorkerVerdict::kNoRecord,
                        absl::StrCat(wanting_, " within ", absl::FormatDuration(wait)));
    }
    client.woken.expires_at(until);
    const auto woken =
        co_await (client.woken.async_wait(kCompletion) ||
                  client.socket.async_wait(Protocol::socket::wait_read, kCompletion));
    // It has nothing more to say: it hung up.
    if (woken.index() == 1) co_return std::nullopt;
  }
}

}  // namespace autobatch
