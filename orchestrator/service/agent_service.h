#ifndef ORCHESTRATOR_SERVICE_AGENT_SERVICE_H_
#define ORCHESTRATOR_SERVICE_AGENT_SERVICE_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/core/agent_config.h"
#include "orchestrator/core/agent_core.h"
#include "orchestrator/core/agent_io.h"
#include "orchestrator/nccl/reducer.h"
#include "orchestrator/net/address.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/net/wake_timer.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/agent_reduction.h"
#include "orchestrator/service/blocking_work.h"
#include "orchestrator/service/node_prober.h"
#include "orchestrator/service/record_file.h"
#include "orchestrator/service/service_outcome.h"
#include "orchestrator/service/worker_request.h"
#include "orchestrator/service/worker_server.h"

namespace autobatch {

// Who is told what happens. Called on the agent's thread; any may be empty.
struct AgentHooks {
  std::function<void(absl::string_view)> say;
  // A record was committed, and training may start on what stands in the record file.
  std::function<void(const Record&)> committed;
  // What trains on an earlier record must be ended; `done` says that it has, on the agent's thread.
  // Empty: nobody trains under this process.
  std::function<void(absl::string_view why, std::function<void()> done)> stop_training;
};

struct AgentServiceOptions {
  AgentConfig config;
  // Where the coordinator may be.
  std::vector<HostPort> coordinator;
  DigestFunction digest;
  // Where the committed record is left.
  std::string record_path;
  // Absent: no training process asks (the record file is all that is wanted).
  std::optional<WorkerServerOptions> workers;
  // To resolve, connect, and authenticate.
  absl::Duration connect_timeout = absl::Seconds(10);
  // For this agent's part of a minimum over NCCL.
  absl::Duration reduce_timeout = absl::Seconds(120);
  // For what is queued when the agent leaves.
  absl::Duration goodbye = absl::Seconds(2);
  AgentHooks hooks;
};

// What an agent works with; all outlives it.
struct AgentParts {
  // One thread, which makes all calls.
  boost::asio::io_context& io;
  Timers& timers;
  Connector& connector;
  NodeProber& prober;
  // Null: no NCCL here.
  Reducer* reducer = nullptr;
  // One thread: files are written in their order. And three for a probe, an id and a reduction.
  boost::asio::any_io_executor file_pool;
  boost::asio::any_io_executor work_pool;
};

// An agent: what its core decides, done on a connection, a prober, and a record file; and the Unix
// socket where the node's training processes get their shares. On one thread.
//
//   AgentService service(std::move(options), parts);
//   AB_RETURN_IF_ERROR(service.Start());
//   ServiceOutcome outcome = co_await service.Run();
class AgentService {
 public:
  AgentService(AgentServiceOptions options, AgentParts parts);
  ~AgentService();
  AgentService(const AgentService&) = delete;
  AgentService& operator=(const AgentService&) = delete;

  // Takes away what an earlier agent left to start on, and listens for workers. Errors of the
  // record file and of WorkerServer::Listen.
  absl::Status Start();

  // Until the agent is over; then no child, client or connection of it is left.
  boost::asio::awaitable<ServiceOutcome> Run();

  // Leaves with this exit code, telling the coordinator why; Run() then ends soon. `done`: the job
  // has ended well.
  void Drain(std::string reason, bool done, int exit_code);

 private:
  struct Link;

  void Handle(AgentEvent event);
  void Work();
  void Take(std::vector<AgentAction> actions);
  void Perform(AgentAction& action);
  void Do(agent::Connect& connect);
  void Do(agent::Disconnect& disconnect);
  void Do(agent::Send& send);
  void Do(agent::Probe& probe);
  void Do(agent::MakeReduceId& make);
  void Do(agent::StartReduce& start);
  void Do(agent::EndReduce& end);
  void Do(agent::WritePrepared& write);
  void Do(agent::WriteCommitted& write);
  void Do(agent::WithdrawRecord& withdraw);
  void Do(agent::StopTraining& stop);
  void Do(agent::Say& say);
  void Do(agent::Finished& finished);

  void Say(absl::string_view text) const;
  void ForgetRecord();
  void CheckLease();
  std::optional<WorkerReply> AnswerTo(const WorkerRequest& request);
  boost::asio::awaitable<void> ConnectAfter(int64_t attempt, absl::Duration delay);
  boost::asio::awaitable<void> ReadAll(std::shared_ptr<Link> link);
  bool Take(const std::shared_ptr<Link>& link, const absl::StatusOr<Frame>& frame);
  boost::asio::awaitable<void> Finish(std::shared_ptr<Link> link);

  AgentServiceOptions options_;
  AgentParts parts_;
  const RecordFile record_file_;
  // None is left when Run() has ended.
  TaskGroup tasks_;
  BlockingWork files_;
  BlockingWork work_;
  AgentReduction reduction_;
  AgentCore core_;
  WakeTimer wake_;
  std::unique_ptr<WorkerServer> workers_;

  // The connection, and the number of the attempt that it came from.
  std::shared_ptr<Link> link_;
  int64_t attempt_ = 0;
  size_t finishing_ = 0;
  std::vector<DeviceOutcome> report_;
  std::shared_ptr<const Record> prepared_;
  // Counts the records that came and went: what was written for an earlier one is void.
  int64_t generation_ = 0;
  std::shared_ptr<const Record> committed_;
  // Whether it could be started on when that was last asked (AgentCore::MayStart), and whether the
  // hook was told.
  bool startable_ = false;
  bool announced_ = false;

  std::list<AgentEvent> events_;
  std::list<AgentAction> actions_;
  bool working_ = false;
  // Training is being ended; the actions behind it wait.
  bool stopping_ = false;
  std::optional<ServiceOutcome> outcome_;
  // Woken when the agent is over and when a connection has ended.
  boost::asio::steady_timer changed_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_AGENT_SERVICE_H_
