#ifndef TOOLS_AGENT_HOST_H_
#define TOOLS_AGENT_HOST_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/probe/local_node.h"
#include "autobatch/probe/node_probe.h"
#include "autobatch/probe/result_cache.h"
#include "autobatch/types/report.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/nccl/reducer.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/service/agent_flags.h"
#include "orchestrator/service/agent_service.h"
#include "orchestrator/service/cached_prober.h"
#include "orchestrator/service/folder_lock.h"
#include "orchestrator/service/service_outcome.h"

namespace autobatch {

// An agent with everything real that it is made of: this node's devices, a probe of them, TLS, and
// NCCL in a child.
//
//   AB_ASSIGN_OR_RETURN(auto host, AgentHost::Make(flags, credentials, launcher.facts));
//   ServiceOutcome outcome = host->Run(hooks);
class AgentHost {
 public:
  // Looks at the node, which takes some seconds, runs nothing yet, and may change the environment
  // (simulated devices). `exit_code` is the program's where it fails.
  static absl::StatusOr<std::unique_ptr<AgentHost>> Make(AgentFlags flags,
                                                         const Credentials& credentials,
                                                         const LauncherFacts& launcher,
                                                         int& exit_code);
  ~AgentHost();
  AgentHost(const AgentHost&) = delete;
  AgentHost& operator=(const AgentHost&) = delete;

  const AgentFlags& flags() const { return flags_; }
  const LocalNode& node() const { return *node_; }
  // Worth a warning, before anything runs.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Until the agent is over; then none of its children is left. An observer may watch the probes.
  // Once.
  ServiceOutcome Run(AgentHooks hooks, ProbeObserver* observer = nullptr);

  // Leaves with this exit code; from any thread, while Run() runs.
  void Drain(std::string reason, bool done, int exit_code);

  // What every device was last found to load.
  NodeReport Report() const;

 private:
  AgentHost(AgentFlags flags, const LauncherFacts& launcher);
  // The folder, and what talks to the coordinator.
  absl::Status Prepare(const Credentials& credentials);
  absl::Status Describe(const LauncherFacts& launcher);
  absl::Status CompleteHello(const LauncherFacts& launcher);
  void MakeProber(ProbeObserver* observer, const AgentHooks& hooks);
  boost::asio::awaitable<void> Serve();

  AgentFlags flags_;
  std::vector<std::string> warnings_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<LocalNode> node_;
  std::unique_ptr<ResultCache> cache_;
  DigestFunction digest_;

  boost::asio::io_context io_{1};
  boost::asio::thread_pool files_{1};
  boost::asio::thread_pool work_{3};
  TaskGroup tasks_{io_.get_executor()};
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<CachedProber> prober_;
  std::unique_ptr<Reducer> reducer_;
  std::unique_ptr<AgentService> service_;
  ServiceOutcome outcome_;
};

}  // namespace autobatch

#endif  // TOOLS_AGENT_HOST_H_
