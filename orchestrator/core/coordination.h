#ifndef ORCHESTRATOR_CORE_COORDINATION_H_
#define ORCHESTRATOR_CORE_COORDINATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/clock.h"
#include "orchestrator/core/agreed_record.h"
#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/core/coordinator_state.h"
#include "orchestrator/core/liveness.h"
#include "orchestrator/core/member_table.h"
#include "orchestrator/core/misconduct.h"
#include "orchestrator/core/option_changes.h"
#include "orchestrator/core/reduction.h"

namespace autobatch {

// What is behind CoordinatorCore, whose comment has the table of phases. Four files:
// coordination.cc is who speaks and who lives; coordination_hello.cc who comes, and what he is told
// then; coordination_round.cc a round up to the reports, and how it ends;
// coordination_commit.cc what lies between.
class Coordination {
 public:
  Coordination(CoordinatorConfig config, std::optional<CoordinatorState> restored,
               RecordMaker make_record, SteadyTime now);

  std::vector<CoordinatorAction> Handle(const CoordinatorEvent& event, SteadyTime now);
  std::optional<SteadyTime> NextWake() const;

 private:
  enum class Phase {
    kJoining,
    kOpening,
    kCollecting,
    kReducing,
    kPreparing,
    kCommitting,
    kCommitted,
    kOver,
  };
  static absl::string_view PhaseName(Phase phase);

  // ---- coordination.cc

  void On(const coordinator::Connected& event);
  void On(const coordinator::Received& event);
  void On(const coordinator::Disconnected& event);
  void On(const coordinator::Woke& event);
  void On(const coordinator::Persisted& event);
  void On(const coordinator::Drain& event);

  void OnMessage(Member& member, const Heartbeat& heartbeat);
  void OnMessage(Member& member, const Report& report);
  void OnMessage(Member& member, const ReduceId& id);
  void OnMessage(Member& member, const ReduceResult& result);
  void OnMessage(Member& member, const Prepared& prepared);
  void OnMessage(Member& member, const Committed& committed);
  void OnMessage(Member& member, const Leave& leave);
  // What makes no sense from a member: a second hello, or what only coordinators say.
  template <typename T>
  void OnMessage(Member& member, const T& message);

  // Whether a message is of the present round; if not, it is refused, and its sender goes on.
  bool IsCurrent(const Member& member, absl::string_view name, int64_t round);

  // A member said what no program of ours says, and lost its connection for it.
  void OnBreach(Member& member);

  void Beat();
  // A member is gone. If it is lost, its incarnation never comes back.
  enum class Parting { kLost, kLeft, kDone };
  void Remove(Member& member, Parting parting, absl::string_view why);
  // Run and round are filled in. Null where it cannot be sent, which is said.
  std::shared_ptr<const std::string> FrameOf(Message message);
  void SendTo(const Member& member, Message message);
  void SendFrame(const Member& member, const std::shared_ptr<const std::string>& frame);
  // One frame to all members that have a connection, or to those in the round.
  enum class Audience { kAll, kRound };
  void Broadcast(Message message, Audience audience);
  void Say(std::string text);
  void ReportProgress();

  // ---- coordination_hello.cc

  void OnHello(ConnectionId connection, const AgentHello& hello);
  // Why a hello is not looked at any further, or nothing.
  std::optional<Refuse> Repel(const AgentHello& hello);
  // Sends what a member that came back, or came late, has to know in this phase.
  void CatchUp(Member& member, const AgentHello& hello);
  // The digest in the hello whose record stands, with its sender as a member; empty: none.
  std::string StandingDigest(const AgentHello& hello) const;
  void Reject(ConnectionId connection, Refuse refuse);

  // ---- coordination_round.cc

  // Follows from what is now: opens rounds, and ends waits whose time is up.
  void Advance();
  void AdvanceJoining();
  void AdvanceCommitted();
  void OnDeadline();

  void TakeNumber();  // written, unless that is done or under way
  void AskEarly();    // before it is known who else will come
  void AskEarly(const Member& member);
  void Open();
  void BeginCollecting();
  void AddToRound(Member& member);
  void DropFromRound(Member& member);
  // What it means in this phase that a member of the round is gone.
  void OnDropped(const std::string& agent, bool was_waited_for, Parting parting);
  void AbortRound(std::string reason, std::vector<std::string> missing);
  void Persist();
  // `agents_exit_code`: what members leave with; absent: as fits ours, and whoever has the record
  // that the run ends with stays.
  void Finish(int exit_code, std::string reason, const std::vector<std::string>& missing,
              std::optional<int> agents_exit_code = std::nullopt);

  // ---- coordination_commit.cc

  std::vector<Member*> Participants();  // in the order of ranks
  void CombineReports();
  void BeginReducing();
  void StepReduction();
  void Seal();
  void SendPrepare(const Member& member);
  CoordinatorState Decision();
  void Decide();
  void PutOutOthersWithARecord();
  void BeginCommitted();
  void EndConfirmation();

  bool IsWaitedFor(const Member& member) const;
  absl::Duration Lease() const { return config_.heartbeat * (config_.reconnect_grace - 1); }
  std::vector<std::string> Missing();
  int64_t RoundNodes() const { return static_cast<int64_t>(round_nodes_.size()); }
  bool FitsRound(const Member& member) const;

  const CoordinatorConfig config_;
  const RecordMaker make_record_;
  SteadyTime now_;
  std::vector<CoordinatorAction> actions_;

  MemberTable members_;
  // Connections that have not said hello, and where they come from.
  absl::flat_hash_map<ConnectionId, std::string> strangers_;
  Metronome metronome_;
  int64_t beats_ = 0;
  Misconduct misconduct_;
  // Agents that were lost since the last commit, for texts; bounded.
  std::vector<std::string> lost_;

  Phase phase_ = Phase::kJoining;
  bool changed_ = true;  // members came or went, or a wait may be over
  std::optional<SteadyTime> deadline_;
  std::optional<SteadyTime> last_call_;
  // The next round need not wait for a last call: it repeats one that lost a member.
  bool at_once_ = false;
  // How far `state_.round` is as the number of a round that has not begun.
  enum class Number { kNone, kOnItsWay, kOnDisk };
  Number number_ = Number::kNone;
  bool asked_early_ = false;  // reports for it are taken already
  // Somebody who was put out may let training start on an older record until then.
  SteadyTime fence_;
  // Why this membership cannot have a record; a change of it lifts that.
  std::string blocked_;

  CoordinatorState state_;
  CoordinatorState before_decision_;  // `state_` without the commit of the present round
  // The highest round that any agent has seen, lest an old state repeats one.
  int64_t highest_seen_ = 0;
  int64_t persist_sequence_ = 0;

  // The present round. Members by boot id, and how many are waited for.
  absl::flat_hash_map<std::string, int64_t> round_nodes_;
  int64_t outstanding_ = 0;
  bool world_changed_ = false;
  RoundFacts facts_;
  std::optional<Reduction> reduction_;
  // Held back for communicators as measured, and whether all was confirmed again since the commit.
  std::optional<int64_t> communicator_bytes_;
  bool confirmed_again_ = false;
  AgreedRecord agreed_;
  std::shared_ptr<const std::string> record_;
  std::shared_ptr<const std::string> prepare_;
  absl::flat_hash_map<std::string, size_t> places_;  // in agreed_.shares
  bool confirming_ = false;
  OptionChanges option_changes_;  // since the record that stands was committed
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATION_H_
