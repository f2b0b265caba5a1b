#include "orchestrator/core/member_table.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/version.h"
#include "orchestrator/core/version_rule.h"

namespace autobatch {

Refuse MemberTable::Refusal(RefuseCode code, std::string reason) const {
  return Refuse{.run_id = run_id_, .code = code, .reason = std::move(reason), .closing = true};
}

std::string MemberTable::Holder(const Member& member) const {
  return absl::StrCat(member.agent, " at ",
                      member.address.empty() ? "an unknown address" : member.address);
}

std::optional<Refuse> MemberTable::JudgeDevices(const AgentHello& hello) const {
  if (hello.devices.empty()) {
    return Refusal(RefuseCode::kContradiction,
                   absl::StrCat(hello.agent, " has no device to train on"));
  }
  absl::flat_hash_set<absl::string_view> own;
  for (const AnnouncedDevice& device : hello.devices) {
    if (!own.insert(device.uuid).second) {
      return Refusal(RefuseCode::kDuplicateDevice,
                     absl::StrCat(hello.agent, " announces device ", device.uuid, " twice"));
    }
    const auto holder = by_device_.find(device.uuid);
    if (holder == by_device_.end() || holder->second == hello.agent) continue;
    return Refusal(RefuseCode::kDuplicateDevice,
                   absl::StrCat("device ", device.uuid, " of ", hello.agent, " is also that of ",
                                Holder(members_.at(holder->second)), ": two agents see one GPU"));
  }
  return std::nullopt;
}

std::optional<Refuse> MemberTable::JudgeConfig(const AgentHello& hello) const {
  SharedConfig first = config_;
  SharedConfig own{.agent = hello.agent, .fields = hello.config, .digest = hello.config_digest};
  const bool takes_part = TakesPartInNccl(own.fields);
  if (takes_part != TakesPartInNccl(first.fields)) {
    if (all_in_nccl_) {
      return Refusal(
          RefuseCode::kConfig,
          absl::StrCat((takes_part ? first : own).agent,
                       " takes no part in a minimum by NCCL (--no-nccl, or no GPU) and ",
                       (takes_part ? own : first).agent, " does, and this run requires it of all"));
    }
    // What NCCL is set to matters only between those who use it.
    first = WithoutNccl(std::move(first));
    own = WithoutNccl(std::move(own));
  }
  const std::string difference = ConfigDifference(first, own);
  if (difference.empty()) return std::nullopt;
  return Refusal(RefuseCode::kConfig,
                 absl::StrCat("the settings of ", hello.agent, " differ: ", difference));
}

std::optional<Refuse> MemberTable::Judge(const AgentHello& hello) const {
  for (const NamedValue& version : hello.versions) {
    if (version.name != "autobatch") continue;
    const absl::Status status = CheckVersion(kVersion, version.value);
    if (!status.ok()) return Refusal(RefuseCode::kVersion, std::string(status.message()));
  }
  if (hello.node_rank.has_value()) {
    const auto holders = by_node_rank_.find(*hello.node_rank);
    if (holders != by_node_rank_.end()) {
      for (const std::string& agent : holders->second) {
        const Member& holder = members_.at(agent);
        if (agent == hello.agent || holder.boot_id == hello.boot_id) continue;
        return Refusal(RefuseCode::kDuplicateNodeRank,
                       absl::StrCat("node rank ", *hello.node_rank, " of ", hello.agent,
                                    " is taken by ", Holder(holder)));
      }
    }
  }
  if (std::optional<Refuse> refuse = JudgeDevices(hello); refuse.has_value()) return refuse;
  return config_.agent.empty() || members_.empty() ? std::nullopt : JudgeConfig(hello);
}

void MemberTable::TakeFacts(Member& member, const AgentHello& hello) {
  if (member.restored) CountNode(member, -1);
  if (member.number == 0) member.number = ++last_number_;
  member.restored = false;
  member.agent = hello.agent;
  member.incarnation = hello.incarnation;
  member.boot_id = hello.boot_id;
  member.node_rank = hello.node_rank;
  member.launcher = hello.launcher;
  member.workload = hello.workload;
  member.simulated = hello.simulated;
  member.in_nccl = TakesPartInNccl(hello.config);
  CountNode(member, 1);
  if (hello.node_rank.has_value()) by_node_rank_[*hello.node_rank].push_back(hello.agent);
  for (const AnnouncedDevice& device : hello.devices) {
    member.devices.push_back(device.uuid);
    by_device_[device.uuid] = hello.agent;
  }
}

void MemberTable::CountNode(const Member& member, int64_t change) {
  const auto count = nodes_.try_emplace(member.boot_id, 0).first;
  count->second += change;
  if (count->second == 0) nodes_.erase(count);
}

void MemberTable::Exclude(Member& member) {
  if (member.excluded) return;
  member.excluded = true;
  CountNode(member, -1);
}

bool MemberTable::WasGivenUp(const AgentHello& hello) const {
  const auto given_up = given_up_.find(hello.agent);
  return given_up != given_up_.end() && given_up->second == hello.incarnation;
}

Member* MemberTable::EarlierStart(const AgentHello& hello) {
  Member* const holder = Named(hello.agent);
  const bool earlier = holder != nullptr && !holder->connection.has_value() &&
                       holder->incarnation != hello.incarnation && hello.run_id == run_id_ &&
                       !WasGivenUp(hello);
  return earlier ? holder : nullptr;
}

MemberTable::Admission MemberTable::Admit(const AgentHello& hello, ConnectionId connection,
                                          absl::string_view address) {
  Admission admission;
  if (hello.run_id != run_id_) {
    admission.refuse =
        Refusal(RefuseCode::kRunId, absl::StrCat("this is run ", run_id_, ", not ", hello.run_id));
    return admission;
  }
  Member* const holder = Named(hello.agent);
  const bool same = holder != nullptr && holder->incarnation == hello.incarnation;
  if (!same) {
    if (WasGivenUp(hello)) {
      admission.refuse =
          Refusal(RefuseCode::kStaleRound,
                  absl::StrCat("stale round: this start of ", hello.agent,
                               " was given up as lost; it may join anew, but not go on"));
      return admission;
    }
    if (holder != nullptr) {
      admission.refuse = Refusal(RefuseCode::kDuplicateAgent,
                                 absl::StrCat("the name ", hello.agent, " is taken by ",
                                              Holder(*holder), "; is it started twice?"));
      return admission;
    }
  }
  if (!same || holder->restored) {
    if (std::optional<Refuse> refuse = Judge(hello); refuse.has_value()) {
      admission.refuse = *std::move(refuse);
      return admission;
    }
    if (holder == nullptr && static_cast<int64_t>(members_.size()) >= max_members_) {
      admission.refuse =
          Refusal(RefuseCode::kFull, absl::StrCat("there are ", max_members_, " members already"));
      return admission;
    }
    if (members_.empty() || config_.agent.empty()) {
      config_ = {.agent = hello.agent, .fields = hello.config, .digest = hello.config_digest};
    }
  }
  Member& member = members_[hello.agent];
  if (!same || member.restored) TakeFacts(member, hello);
  admission.back = same;
  if (member.connection.has_value()) {
    admission.replaced = member.connection;
    Detach(member);
  }
  member.connection = connection;
  member.address = std::string(address);
  member.away = 0;
  member.liveness.Restart();
  by_connection_[connection] = hello.agent;
  admission.member = &member;
  return admission;
}

void MemberTable::Restore(const StateMember& state) {
  Member& member = members_[state.agent];
  member.agent = state.agent;
  member.incarnation = state.incarnation;
  // Unknown yet; whoever it is, it is a node.
  member.boot_id = absl::StrCat("?", state.agent);
  member.restored = true;
  member.number = ++last_number_;
  CountNode(member, 1);
}

Member* MemberTable::OfConnection(ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  return found == by_connection_.end() ? nullptr : Named(found->second);
}

Member* MemberTable::Named(absl::string_view agent) {
  const auto found = members_.find(agent);
  return found == members_.end() ? nullptr : &found->second;
}

void MemberTable::Detach(Member& member) {
  if (member.connection.has_value()) by_connection_.erase(*member.connection);
  member.connection.reset();
  member.away = 0;
}

void MemberTable::Remove(const std::string& agent, bool lost) {
  const auto found = members_.find(agent);
  if (found == members_.end()) return;
  Detach(found->second);
  if (!found->second.excluded) CountNode(found->second, -1);
  for (const std::string& uuid : found->second.devices) by_device_.erase(uuid);
  if (found->second.node_rank.has_value()) {
    const auto holders = by_node_rank_.find(*found->second.node_rank);
    std::erase(holders->second, agent);
    if (holders->second.empty()) by_node_rank_.erase(holders);
  }
  if (lost) {
    if (static_cast<int64_t>(given_up_.size()) >= max_members_) given_up_.erase(given_up_.begin());
    given_up_[agent] = found->second.incarnation;
  }
  members_.erase(found);
}

}  // namespace autobatch
