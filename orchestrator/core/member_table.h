#ifndef ORCHESTRATOR_CORE_MEMBER_TABLE_H_
#define ORCHESTRATOR_CORE_MEMBER_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "orchestrator/core/config_difference.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/core/liveness.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// An agent that was let in.
struct Member {
  std::string agent;
  std::string incarnation;
  std::string boot_id;
  // Where its connection comes from, for people.
  std::string address;
  std::optional<int64_t> node_rank;
  std::vector<std::string> devices;  // UUIDs
  LauncherClaims launcher;
  std::string workload;
  bool simulated = false;
  // It takes part in minima by NCCL.
  bool in_nccl = false;
  // It has not come back since the coordinator was started again: only its name and incarnation are
  // known.
  bool restored = false;
  // Order of arrival.
  int64_t number = 0;

  // Absent: the connection broke, `away` beats ago.
  std::optional<ConnectionId> connection;
  int64_t away = 0;
  Liveness liveness;

  // How far it is in the present round.
  bool in_round = false;
  bool reported = false;
  bool prepared = false;
  bool committed = false;
  // It may let training start on the record that stands, as a member of the round that made it.
  bool has_record = false;
  // None of its devices can train; it waits in reserve for good.
  bool excluded = false;
  std::vector<DeviceOutcome> outcomes;
  std::optional<int64_t> communicator_bytes;
};

// Who is in the run, and who may come in: bounded, and free of duplicates of names, node ranks and
// devices. Pure.
//
//   A name, node rank or device belongs to the member that has it until that member is removed. Who
//   comes second is refused, and told who has it and from where. The same incarnation of a member
//   is that member on a new connection. An incarnation that was removed as lost never comes back.
class MemberTable {
 public:
  // `all_in_nccl`: who takes no part in minima by NCCL may not join those who do.
  MemberTable(std::string run_id, int64_t max_members, bool all_in_nccl = false)
      : run_id_(std::move(run_id)), max_members_(max_members), all_in_nccl_(all_in_nccl) {}

  struct Admission {
    // Null: refused.
    Member* member = nullptr;
    Refuse refuse;
    // It is a known member on a new connection; the one it had before, if that was still open.
    bool back = false;
    std::optional<ConnectionId> replaced;
  };

  // What follows from a hello.
  Admission Admit(const AgentHello& hello, ConnectionId connection, absl::string_view address);

  // A member without a connection that is an earlier start of the agent which says hello: remove it
  // before Admit. Null: there is none.
  Member* EarlierStart(const AgentHello& hello);

  // A member of the round that a former coordinator committed.
  void Restore(const StateMember& member);

  // Null: no such member.
  Member* OfConnection(ConnectionId connection);
  Member* Named(absl::string_view agent);

  // The connection of a member broke.
  void Detach(Member& member);

  // It has no device that can train: it stays, and is not counted as a node any more.
  void Exclude(Member& member);

  // Distinct boot ids of members that are not excluded.
  int64_t NodeCount() const { return static_cast<int64_t>(nodes_.size()); }

  // `lost`: its incarnation may not come back.
  void Remove(const std::string& agent, bool lost);

  // By name. A member stays where it is until it is removed.
  std::map<std::string, Member, std::less<>>& members() { return members_; }
  const std::map<std::string, Member, std::less<>>& members() const { return members_; }

  // Of the run's first member; every other had to have the same. Null without members.
  const SharedConfig* config() const { return members_.empty() ? nullptr : &config_; }

 private:
  bool WasGivenUp(const AgentHello& hello) const;
  std::optional<Refuse> Judge(const AgentHello& hello) const;
  std::optional<Refuse> JudgeDevices(const AgentHello& hello) const;
  std::optional<Refuse> JudgeConfig(const AgentHello& hello) const;
  Refuse Refusal(RefuseCode code, std::string reason) const;
  void TakeFacts(Member& member, const AgentHello& hello);
  void CountNode(const Member& member, int64_t change);
  std::string Holder(const Member& member) const;

  const std::string run_id_;
  const int64_t max_members_;
  const bool all_in_nccl_;
  int64_t last_number_ = 0;
  std::map<std::string, Member, std::less<>> members_;
  absl::flat_hash_map<ConnectionId, std::string> by_connection_;
  absl::flat_hash_map<std::string, std::string> by_device_;
  // Agents of one node share its rank.
  absl::flat_hash_map<int64_t, std::vector<std::string>> by_node_rank_;
  // Members that are not excluded, by boot id.
  absl::flat_hash_map<std::string, int64_t> nodes_;
  SharedConfig config_;
  // The incarnation of an agent that was last given up; as many as there may be members.
  std::map<std::string, std::string> given_up_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_MEMBER_TABLE_H_
