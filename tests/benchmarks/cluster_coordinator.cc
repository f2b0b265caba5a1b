// The coordinator of the cluster benchmark: all that is real of one, in a process of its own, so
// that what it costs can be read from outside. Says where it listens, then which rounds were
// confirmed and what a round after a loss cost it; ends with its input.
//
//   cluster_coordinator NODES FOLDER

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/net/descriptor_limit.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/net/tls_transport.h"
#include "orchestrator/service/coordinator_service.h"
#include "orchestrator/service/credential_flags.h"
#include "tests/benchmarks/cluster_run.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

// Of all threads of this process so far, in milliseconds.
double CpuMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1e-3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) +
         1e3 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
}

int Main(int64_t nodes, const std::string& folder) {
  RaiseDescriptorLimit();
  asio::io_context io{1};
  asio::thread_pool files{1};
  TaskGroup tasks(io.get_executor());
  const std::unique_ptr<Timers> timers = Timers::Real(io.get_executor());
  const Credentials credentials = BenchmarkCredentials();
  const Seal seal = MakeSeal(credentials).value();
  const std::unique_ptr<Listener> listener =
      ListenTls(tasks, *timers, credentials,
                {.bind_address = "127.0.0.1",
                 .ports = {0, 0},
                 .handshakes = HandshakesFor(nodes),
                 // All agents have one address here, and a crowd from one address is a flood.
                 .patience = absl::Seconds(10)})
          .value();

  double lost_at = 0;
  CoordinatorHooks hooks;
  hooks.say = [&lost_at](absl::string_view text) {
    if (absl::StrContains(text, " is lost: ")) lost_at = CpuMilliseconds();
  };
  hooks.round_ended = [&lost_at](const coordinator::RoundEnded& ended) {
    if (lost_at > 0) std::printf("replanned %.3f\n", CpuMilliseconds() - lost_at);
    if (!ended.committed) std::printf("failed %s\n", ended.reason.c_str());
    std::fflush(stdout);
  };
  hooks.commit_confirmed = [&lost_at](const coordinator::CommitConfirmed& confirmed) {
    if (lost_at > 0) std::printf("everywhere %.3f\n", CpuMilliseconds() - lost_at);
    std::printf("confirmed %zu\n", confirmed.confirmed.size());
    std::fflush(stdout);
  };
  CoordinatorService service(
      {.config = {.run_id = kBenchmarkRun,
                  .min_nodes = nodes > 1 ? nodes - 1 : 1,
                  .max_nodes = nodes,
                  .last_call = absl::Seconds(60)},
       .make_record = MakeRecordMaker({.digest = seal, .created = [] { return "now"; }}),
       .state = SealedFile(folder + "/coordinator.state", seal),
       .hooks = std::move(hooks)},
      std::nullopt, io.get_executor(), *timers, *listener, files.get_executor());
  asio::co_spawn(io, service.Run(),
                 [](const std::exception_ptr& broken, const ServiceOutcome& end) {
                   std::printf("ended %s\n", end.text.c_str());
                   std::fflush(stdout);
                 });

  asio::posix::stream_descriptor input(io, dup(STDIN_FILENO));
  std::array<char, 1> byte{};
  input.async_read_some(asio::buffer(byte), [](const boost::system::error_code&, size_t) {
    // Nothing is measured any more, and a proper good-bye to a thousand agents takes seconds.
    std::_Exit(0);
  });
  std::printf("port %d\n", listener->address().port);
  std::fflush(stdout);
  io.run();
  return 0;
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  int64_t nodes = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[1], &nodes)) return 2;
  return autobatch::Main(nodes, argv[2]);
}
