#ifndef ORCHESTRATOR_CORE_AGENT_CONDUCT_H_
#define ORCHESTRATOR_CORE_AGENT_CONDUCT_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "autobatch/base/clock.h"
#include "orchestrator/core/agent_config.h"
#include "orchestrator/core/agent_io.h"
#include "orchestrator/core/agreed_record.h"
#include "orchestrator/core/backoff.h"
#include "orchestrator/core/liveness.h"

namespace autobatch {

// What is behind AgentCore, whose comment has the table of phases. Two files: agent_conduct.cc is
// the connection and its loss, agent_round.cc what the agent does in a round.
class AgentConduct {
 public:
  AgentConduct(AgentConfig config, RecordChecker check_record, SteadyTime now);

  std::vector<AgentAction> Start(SteadyTime now);
  std::vector<AgentAction> Handle(const AgentEvent& event, SteadyTime now);
  std::optional<SteadyTime> NextWake() const;
  bool MayStart(SteadyTime now) const;

 private:
  enum class Phase { kAway, kGreeting, kMember, kOver };
  // How far the record of `round_` is.
  enum class Keeping { kNothing, kWriting, kPrepared, kConfirming, kCommitted };

  // ---- agent_conduct.cc

  void On(const agent::Connected& event);
  void On(const agent::ConnectFailed& event);
  void On(const agent::Received& event);
  void On(const agent::Disconnected& event);
  void On(const agent::Woke& event);
  void On(const agent::Drain& event);

  void OnMessage(const Welcome& welcome);
  void OnMessage(const HeartbeatAck& ack);
  void OnMessage(const Progress& progress);
  void OnMessage(const Refuse& refuse);
  // What only agents say.
  template <typename T>
  void OnMessage(const T& message);

  void Connect();
  // Gives up the connection and looks for the coordinator again.
  void Reconnect(std::string why);
  bool IsTrainable() const { return trainable_round_ != 0; }
  void JoinAnew(absl::string_view reason);
  // Drops what was agreed on: training ends, no record is left.
  void DropRecord(absl::string_view why);
  void AllowForPause();
  void OnNoCoordinator();
  // When the agent gives up, as long as it is no member.
  SteadyTime Patience() const;
  void Send(Message message);
  // Run and round are filled in. Null where it cannot be sent, which is said.
  std::shared_ptr<const std::string> FrameOf(Message message);
  void SendFrame(std::shared_ptr<const std::string> frame);
  void Say(std::string text);
  void Leave(std::string reason, bool done, int exit_code);
  void Finish(int exit_code, std::string text);

  // ---- agent_round.cc

  void On(const agent::Probed& event);
  void On(const agent::ReduceIdMade& event);
  void On(const agent::Reduced& event);
  void On(const agent::PreparedWritten& event);
  void On(const agent::CommittedWritten& event);

  void OnMessage(const Collect& collect);
  void OnMessage(const Reduce& reduce);
  void OnMessage(const Grants& grants);
  void OnMessage(const Prepare& prepare);
  void OnMessage(const Commit& commit);
  void OnMessage(const Abort& abort);

  void StartProbe();
  void SendReduced(ReduceResult result);
  void EndReduction();
  // Whether a message is of the present round; a stale one is left alone.
  bool IsCurrent(absl::string_view name, int64_t round);

  AgentConfig config_;
  const RecordChecker check_record_;
  SteadyTime now_;
  std::vector<AgentAction> actions_;

  Phase phase_ = Phase::kAway;
  Backoff backoff_;
  // How often it was given up and joined anew: a part of its incarnation.
  int64_t joined_anew_ = 0;
  bool was_member_ = false;
  // Last sign of the coordinator as a member; before, the start. Time in which this process did not
  // run is added: it says nothing about the coordinator.
  SteadyTime last_sign_;
  std::optional<SteadyTime> next_wake_;
  std::string last_error_;
  // Since when a name, rank or device of ours was refused as taken.
  std::optional<SteadyTime> taken_since_;
  // In greeting: until when.
  SteadyTime hello_deadline_;
  // As a member.
  Metronome metronome_;
  Liveness coordinator_;
  int64_t lost_after_ = 5;
  int64_t sequence_ = 0;
  // When the hello or a heartbeat was sent that is not yet answered, the oldest first; the last
  // that was, and how long that is good for.
  struct Question {
    int64_t sequence = 0;
    SteadyTime sent;
  };
  std::list<Question> unanswered_;
  SteadyTime lease_from_;
  absl::Duration lease_;

  // The present round: the last that we were asked to report for.
  int64_t round_ = 0;
  std::optional<int64_t> communicator_bytes_;
  // A probe runs, for this round or an earlier one; what it found for this one, to be said again.
  bool probing_ = false;
  std::optional<int64_t> probed_with_;
  std::shared_ptr<const std::string> report_;
  // The last attempt at a reduction in this round; 0: none. What came of it, to be said again.
  int64_t attempt_ = 0;
  bool reducing_ = false;
  std::string unique_id_;
  std::optional<ReduceResult> reduced_;
  std::vector<DeviceShare> shares_;
  Keeping keeping_ = Keeping::kNothing;
  // Of this round's record.
  std::string digest_;
  // The round whose record training may run on: from when its commit was asked to be written, since
  // nobody tells when a program first reads it. 0: none.
  int64_t trainable_round_ = 0;
  // Of the record that is known to be committed here, and its round; empty: none.
  std::string committed_digest_;
  int64_t committed_round_ = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGENT_CONDUCT_H_
