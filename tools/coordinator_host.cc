#include "tools/coordinator_host.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/temporary_files.h"
#include "autobatch/report/text.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/net/advertise_address.h"
#include "orchestrator/net/descriptor_limit.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/net/tls_transport.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/sealed_file.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

std::string Now() { return absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()); }

}  // namespace

CoordinatorHost::CoordinatorHost() : timers_(Timers::Real(io_.get_executor())) {}

absl::StatusOr<std::unique_ptr<CoordinatorHost>> CoordinatorHost::Start(
    const CoordinatorFlags& flags, const Credentials& credentials, CoordinatorHooks hooks) {
  RaiseDescriptorLimit();
  auto host = std::unique_ptr<CoordinatorHost>(new CoordinatorHost);
  AB_ASSIGN_OR_RETURN(host->lock_, FolderLock::Acquire(flags.state_directory));
  AB_ASSIGN_OR_RETURN(const Seal seal, MakeSeal(credentials));
  const SealedFile state(flags.state_directory + "/coordinator.state", seal);
  for (const std::string& path : {state.path(), state.foreseen_path()}) RemoveTemporariesOf(path);
  AB_ASSIGN_OR_RETURN(std::optional<CoordinatorState> restored,
                      LoadState(state, flags.config.run_id));
  AB_ASSIGN_OR_RETURN(host->listener_,
                      ListenTls(host->tasks_, *host->timers_, credentials,
                                {.bind_address = flags.bind_address,
                                 .ports = flags.ports,
                                 .handshake_timeout = flags.handshake_timeout,
                                 .handshakes = HandshakesFor(flags.config.max_nodes),
                                 .log = hooks.say}));
  host->FindAddresses(flags, hooks);
  CoordinatorServiceOptions options{
      .config = flags.config,
      .make_record = MakeRecordMaker({.request = flags.plan.request,
                                      .per_device_shares = flags.plan.shares == SharesRule::kDevice,
                                      .digest = seal,
                                      .created = Now}),
      .state = state,
      .hooks = std::move(hooks)};
  host->service_ = std::make_unique<CoordinatorService>(
      std::move(options), std::move(restored), host->io_.get_executor(), *host->timers_,
      *host->listener_, host->files_.get_executor());
  return host;
}

void CoordinatorHost::FindAddresses(const CoordinatorFlags& flags, const CoordinatorHooks& hooks) {
  local_address_ = listener_->address();
  const absl::StatusOr<std::string> found = AdvertiseAddress({.bind = flags.bind_address});
  // Where this host has no way to others, what was bound says most.
  if (found.ok()) local_address_.host = *found;
  address_ = flags.advertise_address.value_or(local_address_);
  if (address_.port == 0) address_.port = local_address_.port;
  if (absl::IsNotFound(found.status()) && !flags.advertise_address.has_value() && hooks.say) {
    hooks.say(WarningText(found.status().message()));
  }
}

ServiceOutcome CoordinatorHost::Run() {
  asio::co_spawn(io_, Serve(), [](const std::exception_ptr& broken) {
    if (broken) std::rethrow_exception(broken);
  });
  io_.run();
  files_.join();
  return outcome_;
}

asio::awaitable<void> CoordinatorHost::Serve() {
  outcome_ = co_await service_->Run();
  tasks_.Cancel();
  co_await tasks_.Join();
}

void CoordinatorHost::Drain(std::string reason, int exit_code) {
  asio::post(io_, [this, reason = std::move(reason), exit_code]() mutable {
    service_->Drain(std::move(reason), exit_code);
  });
}

}  // namespace autobatch
