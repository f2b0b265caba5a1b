#ifndef ORCHESTRATOR_CORE_REDUCTION_H_
#define ORCHESTRATOR_CORE_REDUCTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// One member's ranks in a reduction.
struct ReduceMember {
  std::string agent;
  // Devices that can train.
  int64_t devices = 0;
};

// The minimum by NCCL, as the coordinator sees it: attempts, each with an id of its own.
//
//   state     waits for                       then
//   id        the root's unique id            results
//   results   everybody's minimum             agreed, differs; failed: next attempt
//   agreed, differs, failed                   the end
//
// Pure; the caller sends what is asked for, and calls Fail when the attempt's time is up.
class Reduction {
 public:
  enum class State { kId, kResults, kAgreed, kDiffers, kFailed };

  // `expected` is what the reports say; `attempts` at least 1. The first member is the root.
  Reduction(std::vector<ReduceMember> members, int64_t expected, int64_t attempts);

  State state() const { return state_; }
  int64_t attempt() const { return attempt_; }
  // Why the last attempt failed, or both values where they differ.
  const std::string& reason() const { return reason_; }
  // The most that any device gave to a communicator.
  std::optional<int64_t> communicator_bytes() const { return communicator_bytes_; }

  // What `agent` has to be sent in this state; run and round are the caller's. Absent: nothing.
  std::optional<Reduce> RequestFor(absl::string_view agent) const;

  // Whether it changed the state. What is of another attempt, or not from the root, does not.
  bool OnId(absl::string_view agent, const ReduceId& id);
  bool OnResult(absl::string_view agent, const ReduceResult& result);

  // The attempt came to nothing: a next one begins, or none is left.
  void Fail(std::string reason);

  // Whose word is missing.
  std::vector<std::string> Missing() const;

 private:
  struct Place {
    int64_t rank_base = 0;
    bool answered = false;
  };

  const std::vector<ReduceMember> members_;
  absl::flat_hash_map<std::string, Place> places_;
  int64_t world_ = 0;
  const int64_t expected_;
  const int64_t attempts_;
  State state_ = State::kId;
  int64_t attempt_ = 1;
  size_t answers_ = 0;
  std::string unique_id_;
  std::string reason_;
  std::optional<int64_t> communicator_bytes_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_REDUCTION_H_
