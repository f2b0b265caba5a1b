#ifndef TOOLS_COORDINATOR_HOST_H_
#define TOOLS_COORDINATOR_HOST_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/net/address.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/service/coordinator_flags.h"
#include "orchestrator/service/coordinator_service.h"
#include "orchestrator/service/folder_lock.h"
#include "orchestrator/service/service_outcome.h"

namespace autobatch {

// A coordinator with everything real that it is made of.
//
//   AB_ASSIGN_OR_RETURN(auto host, CoordinatorHost::Start(flags, credentials, hooks));
//   Tell(host->address());
//   ServiceOutcome outcome = host->Run();
class CoordinatorHost {
 public:
  // Listens at once, and goes on from the state that a former coordinator of the run left. Hooks
  // are called on the thread of Run().
  static absl::StatusOr<std::unique_ptr<CoordinatorHost>> Start(const CoordinatorFlags& flags,
                                                                const Credentials& credentials,
                                                                CoordinatorHooks hooks);
  CoordinatorHost(const CoordinatorHost&) = delete;
  CoordinatorHost& operator=(const CoordinatorHost&) = delete;

  // Where agents of other nodes reach it, and where those of this node do.
  const HostPort& address() const { return address_; }
  const HostPort& local_address() const { return local_address_; }

  // Until the run is over.
  ServiceOutcome Run();

  // As CoordinatorService::Drain; from any thread, while Run() runs.
  void Drain(std::string reason, int exit_code);

 private:
  CoordinatorHost();
  void FindAddresses(const CoordinatorFlags& flags, const CoordinatorHooks& hooks);
  boost::asio::awaitable<void> Serve();

  boost::asio::io_context io_{1};
  // Files that are written while others are served.
  boost::asio::thread_pool files_{1};
  TaskGroup tasks_{io_.get_executor()};
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<CoordinatorService> service_;
  HostPort address_;
  HostPort local_address_;
  ServiceOutcome outcome_;
};

}  // namespace autobatch

#endif  // TOOLS_COORDINATOR_HOST_H_
