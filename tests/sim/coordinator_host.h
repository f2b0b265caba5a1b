#ifndef TESTS_SIM_COORDINATOR_HOST_H_
#define TESTS_SIM_COORDINATOR_HOST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "orchestrator/core/coordinator_core.h"
#include "tests/sim/alarm.h"
#include "tests/sim/ledger.h"
#include "tests/sim/network.h"
#include "tests/sim/process.h"
#include "tests/sim/sabotage.h"
#include "tests/sim/stream.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

// The coordinator's host: its disk outlives its programs, of which one at a time runs the
// production core. It is the shell of that core on virtual time.
class CoordinatorHost {
 public:
  struct Parts {
    VirtualTime& time;
    Network& network;
    Random& random;
    Ledger& ledger;
    // What was said, for people who look for the cause of a failing seed.
    std::function<void(const std::string& who, const std::string& text)> log;
  };

  CoordinatorHost(Parts parts, CoordinatorConfig config, RecordMaker make_record,
                  Sabotage sabotage);
  // What a stopped process has waiting holds connections, which hold the process.
  ~CoordinatorHost() {
    if (process_ != nullptr) process_->Kill();
  }

  void Start();
  void Kill();
  void Stop() { process_->Stop(); }
  void Continue() { process_->Continue(); }
  void Drain();

  bool running() const { return process_ != nullptr && !process_->dead(); }
  const std::optional<coordinator::Finished>& finished() const { return finished_; }
  const std::optional<coordinator::RoundEnded>& last_round() const { return last_round_; }
  const std::optional<coordinator::CommitConfirmed>& confirmed() const { return confirmed_; }
  // The options of its next start.
  void AskFor(std::vector<NamedValue> options) { config_.options = std::move(options); }
  // What it will say about its disk from now on.
  void FailDisk(absl::Status status) { disk_status_ = std::move(status); }

  // Watches the messages that go out, before they do: to strike between two of them.
  std::function<void(const coordinator::Send&)> on_send;

 private:
  struct Peer {
    std::shared_ptr<Endpoint> end;
    Stream stream;
    bool watched = false;
  };

  // A peer that takes nothing for too long is dropped, as the real connection does.
  void WatchReader(ConnectionId id);
  void Accept(const std::shared_ptr<Endpoint>& end);
  void Handle(const CoordinatorEvent& event);
  void Do(const coordinator::Send& action);
  void Do(const coordinator::Close& action);
  void Do(const coordinator::Persist& action);
  void Do(const coordinator::Foresee&) {}
  void Do(const coordinator::Say& action);
  void Do(const coordinator::RoundEnded& action);
  void Do(const coordinator::CommitConfirmed& action);
  void Do(const coordinator::Finished& action);
  absl::StatusOr<Message> Received(absl::StatusOr<Message> message) const;

  const Parts parts_;
  CoordinatorConfig config_;
  const RecordMaker make_record_;
  const Sabotage sabotage_;

  std::optional<CoordinatorState> disk_;
  absl::Status disk_status_;
  SteadyTime disk_free_;

  std::shared_ptr<Process> process_;
  std::unique_ptr<CoordinatorCore> core_;
  std::map<ConnectionId, Peer> peers_;
  ConnectionId next_connection_ = 1;
  Alarm alarm_;
  std::optional<coordinator::Finished> finished_;
  std::optional<coordinator::RoundEnded> last_round_;
  std::optional<coordinator::CommitConfirmed> confirmed_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_COORDINATOR_HOST_H_
