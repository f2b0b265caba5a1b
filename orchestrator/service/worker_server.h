#ifndef ORCHESTRATOR_SERVICE_WORKER_SERVER_H_
#define ORCHESTRATOR_SERVICE_WORKER_SERVER_H_

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

struct WorkerServerOptions {
  // Where the socket is; up to 107 bytes.
  std::string path;
  // The job's processes are the agent's user's; others have no business here.
  mode_t mode = 0600;
  // Processes served at the same time. A node has some dozens; each costs a descriptor.
  size_t max_clients = 256;
  // From the connection to the end of the request, in all and not for each byte.
  absl::Duration request_timeout = absl::Seconds(10);
  // The longest that a process may wait for a record, whatever it asks.
  absl::Duration longest_wait = absl::Hours(1);
};

// The agent's Unix socket, where the training processes of this node get their shares. Runs on one
// io_context, on one thread.
class WorkerServer {
 public:
  // The reply to a request; nothing: there is no record yet, ask again when it changed.
  using Answer = std::function<std::optional<WorkerReply>(const WorkerRequest&)>;

  // Listens at once. AlreadyExists: another agent serves at this path; one that was left behind by
  // a dead agent is replaced. InvalidArgument: the path is too long. Otherwise the error of errno
  // with the path.
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Listen(boost::asio::io_context& io,
                                                              WorkerServerOptions options,
                                                              Answer answer);
  ~WorkerServer();
  WorkerServer(const WorkerServer&) = delete;
  WorkerServer& operator=(const WorkerServer&) = delete;

  // What is wanting, for those whose patience ends while there is no answer for them.
  void set_wanting(std::string what) { wanting_ = std::move(what); }

  // A record was committed or withdrawn: everyone who waits is answered anew.
  void RecordChanged();

  // Serves nobody new and answers those who wait: the agent leaves. Every client is gone when it
  // returns. The server stays where it is until then.
  boost::asio::awaitable<void> Stop();

  size_t clients() const { return clients_.size(); }

 private:
  using Protocol = boost::asio::local::stream_protocol;
  struct Client;

  WorkerServer(boost::asio::io_context& io, WorkerServerOptions options, Answer answer);
  absl::Status Open();
  absl::Status RemoveStaleSocket();
  void Run(boost::asio::awaitable<void> task);
  boost::asio::awaitable<void> AcceptAll();
  boost::asio::awaitable<void> Serve(Client& client, bool busy);
  // Nothing: the client is gone.
  boost::asio::awaitable<std::optional<WorkerReply>> ReplyTo(Client& client);
  boost::asio::awaitable<std::optional<WorkerReply>> AnswerInTime(Client& client,
                                                                  WorkerRequest request);

  boost::asio::io_context& io_;
  const WorkerServerOptions options_;
  const Answer answer_;
  std::string wanting_ = "no record was committed";
  Protocol::acceptor acceptor_;
  // Between two attempts to accept when there are no descriptors left.
  boost::asio::steady_timer pause_;
  std::list<std::unique_ptr<Client>> clients_;
  bool leaving_ = false;
  // Coroutines that have not ended, and what is woken when one does.
  size_t running_ = 0;
  boost::asio::steady_timer ended_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_WORKER_SERVER_H_
