#ifndef TESTS_SIM_AGENT_HOST_H_
#define TESTS_SIM_AGENT_HOST_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "orchestrator/core/agent_core.h"
#include "tests/sim/alarm.h"
#include "tests/sim/ledger.h"
#include "tests/sim/network.h"
#include "tests/sim/process.h"
#include "tests/sim/reduce_board.h"
#include "tests/sim/sabotage.h"
#include "tests/sim/stream.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

// The host of an agent: its name, devices and secret, and one program at a time that runs the
// production core. It is the shell of that core on virtual time.
class AgentHost {
 public:
  struct Parts {
    VirtualTime& time;
    Network& network;
    Random& random;
    Ledger& ledger;
    ReduceBoard& reductions;
    std::function<void(const std::string& who, const std::string& text)> log;
  };
  // What the name of the coordinator's host leads to: an address, after a while, or an error.
  struct Resolved {
    absl::Duration takes;
    absl::Status status;
  };
  struct Setup {
    // Its number in the network, from 1.
    int host = 0;
    AgentConfig config;
    std::string secret;
    RecordChecker check_record;
    // How long a probe takes, the first and every later one.
    absl::Duration first_probe = absl::Seconds(20);
    absl::Duration cached_probe = absl::Milliseconds(10);
    // The batch of a device in a round; 0: it cannot train.
    std::function<int64_t(absl::string_view uuid, int64_t round)> batch;
    // Per cent of messages that are followed by an old one.
    int echo_percent = 0;
    // What this host's NCCL makes of a minimum.
    std::function<int64_t(int64_t)> corrupt;
    // Its NCCL never answers.
    bool reduce_hangs = false;
    // Asked before each connection; empty: the address is given.
    std::function<Resolved()> resolve;
    Sabotage sabotage = Sabotage::kNone;
  };

  AgentHost(Parts parts, Setup setup) : parts_(std::move(parts)), setup_(std::move(setup)) {}

  void Start();
  // The program dies; so do the processes that it started.
  void Kill();
  void Stop() { process_->Stop(); }
  void Continue() { process_->Continue(); }
  void Drain(bool done);
  // Its training processes die; their launcher starts them again when it may.
  void CrashTraining() { EndTraining(); }

  const std::string& name() const { return setup_.config.hello.agent; }
  Setup& setup() { return setup_; }
  bool running() const { return process_ != nullptr && !process_->dead(); }
  bool stopped() const { return running() && process_->stopped(); }
  const std::optional<agent::Finished>& finished() const { return finished_; }
  // The round that its training processes run on; 0: there are none.
  int64_t training_round() const { return training_round_; }
  const std::string& training_digest() const { return training_digest_; }
  int64_t probes() const { return probes_; }
  void FailDisk(absl::Status status) { disk_status_ = std::move(status); }
  const std::vector<std::string>& said() const { return said_; }

  // Watches what is sent, before it is: to strike then.
  std::function<void()> on_send;

 private:
  void Handle(const AgentEvent& event);
  void Do(const agent::Connect& action);
  void Do(const agent::Disconnect& action);
  void Do(const agent::Send& action);
  void Do(const agent::Probe& action);
  void Do(const agent::MakeReduceId& action);
  void Do(const agent::StartReduce& action);
  void Do(const agent::EndReduce& action);
  void Do(const agent::WritePrepared& action);
  void Do(const agent::WriteCommitted& action);
  void Do(const agent::WithdrawRecord& action);
  void Do(const agent::StopTraining& action);
  void Do(const agent::Say& action);
  void Do(const agent::Finished& action);

  void Note(const Report& report);
  void UseConnection(const std::shared_ptr<Endpoint>& end);
  void StartTraining(int64_t round, const std::string& digest);
  // Starts on the committed record if nothing runs and the core says that one may.
  void MaybeTrain();
  void EndTraining();
  absl::Duration DiskTime();

  const Parts parts_;
  Setup setup_;
  int starts_ = 0;
  int64_t probes_ = 0;
  std::map<std::string, int64_t> batches_;
  absl::Status disk_status_;

  std::shared_ptr<Process> process_;
  std::unique_ptr<AgentCore> core_;
  std::string incarnation_;
  std::shared_ptr<Endpoint> end_;
  Stream stream_;
  int64_t connects_ = 0;
  int64_t reduces_ = 0;
  Alarm alarm_;
  std::deque<std::shared_ptr<const std::string>> sent_;
  std::string prepared_digest_;
  // Of the committed record on the disk; 0: none.
  int64_t committed_round_ = 0;
  int64_t training_round_ = 0;
  std::string training_digest_;
  std::optional<agent::Finished> finished_;
  std::vector<std::string> said_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_AGENT_HOST_H_
