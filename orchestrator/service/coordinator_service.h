#ifndef ORCHESTRATOR_SERVICE_COORDINATOR_SERVICE_H_
#define ORCHESTRATOR_SERVICE_COORDINATOR_SERVICE_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/core/agreed_record.h"
#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/core/coordinator_state.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/net/wake_timer.h"
#include "orchestrator/service/blocking_work.h"
#include "orchestrator/service/sealed_file.h"
#include "orchestrator/service/service_outcome.h"

namespace autobatch {

// What a former coordinator of this run left in its state file; absent: this is the first.
// DataLoss: the file is damaged (its rounds are lost with it: a run of another name is safe).
// FailedPrecondition: it is another run's, or of another version.
absl::StatusOr<std::optional<CoordinatorState>> LoadState(const SealedFile& file,
                                                          absl::string_view run_id);

// Who is told what happens. Called on the coordinator's thread; any may be empty.
struct CoordinatorHooks {
  std::function<void(absl::string_view)> say;
  std::function<void(const coordinator::RoundEnded&)> round_ended;
  std::function<void(const coordinator::CommitConfirmed&)> commit_confirmed;
};

struct CoordinatorServiceOptions {
  CoordinatorConfig config;
  RecordMaker make_record;
  SealedFile state;
  // For what is queued for a peer that is sent away.
  absl::Duration goodbye = absl::Seconds(2);
  CoordinatorHooks hooks;
};

// A coordinator: what its core decides, done on a listener and a file. On one thread.
//
//   CoordinatorService service(std::move(options), restored, executor, timers, *listener, pool);
//   ServiceOutcome outcome = co_await service.Run();
class CoordinatorService {
 public:
  // All outlive it. `executor` has one thread, which makes all calls; `pool` another one: states
  // are written in their order.
  CoordinatorService(CoordinatorServiceOptions options, std::optional<CoordinatorState> restored,
                     boost::asio::any_io_executor executor, Timers& timers, Listener& listener,
                     boost::asio::any_io_executor pool);
  CoordinatorService(const CoordinatorService&) = delete;
  CoordinatorService& operator=(const CoordinatorService&) = delete;

  // Serves until the run is over; then nobody is connected any more and the listener is closed.
  boost::asio::awaitable<ServiceOutcome> Run();

  // Leaves with this exit code; Run() then ends soon. 0: its work is done, and who has a committed
  // record keeps it; otherwise everybody is told why the run is over.
  void Drain(std::string reason, int exit_code);

 private:
  struct Peer;

  void Handle(CoordinatorEvent event);
  void Do(coordinator::Send& send);
  void Do(coordinator::Close& close);
  void Do(coordinator::Persist& persist);
  void Do(coordinator::Foresee& foresee);
  void Do(coordinator::Say& say);
  void Do(coordinator::RoundEnded& ended);
  void Do(coordinator::CommitConfirmed& confirmed);
  void Do(coordinator::Finished& finished);

  boost::asio::awaitable<void> AcceptAll();
  boost::asio::awaitable<void> ReadAll(std::shared_ptr<Peer> peer);
  bool Take(Peer& peer, const absl::StatusOr<Frame>& frame);
  boost::asio::awaitable<void> Dismiss(std::shared_ptr<Peer> peer);

  CoordinatorServiceOptions options_;
  // Of its own: none is left when Run() has ended.
  TaskGroup tasks_;
  Timers& timers_;
  Listener& listener_;
  BlockingWork files_;
  CoordinatorCore core_;
  WakeTimer wake_;

  // Those that the core knows of.
  std::map<ConnectionId, std::shared_ptr<Peer>> peers_;
  ConnectionId last_connection_ = 0;
  size_t dismissing_ = 0;
  // Events that came while another was handled.
  std::deque<CoordinatorEvent> events_;
  bool handling_ = false;
  std::optional<ServiceOutcome> outcome_;
  // Woken when the run is over and when somebody was dismissed.
  boost::asio::steady_timer changed_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_COORDINATOR_SERVICE_H_
