#ifndef ORCHESTRATOR_CORE_AGREED_RECORD_H_
#define ORCHESTRATOR_CORE_AGREED_RECORD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/plan/record.h"

namespace autobatch {

// A member of a round in the order of ranks.
struct RoundMember {
  std::string agent;
  // Ranks that its launcher starts, one a device; the first so many of `devices` are theirs.
  int64_t ranks = 0;
  // Those that can train.
  std::vector<DeviceOutcome> devices;
};

// What the members of a round agree on, before it is a record.
struct RoundFacts {
  std::string run_id;
  int64_t round = 0;
  std::string config_digest;
  std::string workload;
  bool simulated = false;
  // The minimum over all devices, and the first that has it.
  int64_t minimum_batch = 0;
  std::string minimum_node;
  std::string minimum_device;
  std::vector<RoundMember> members;
};

// The record as it is sent, and the digest that stands in it.
struct AgreedRecord {
  std::string text;
  std::string digest;
  // What each member's devices may load, in the order of the members, where that differs between
  // devices. Empty: everybody goes by the record alone.
  std::vector<NodeShares> shares;
};

// Makes the record of a round; record_maker.h has the real one, which plans. FailedPrecondition:
// this world cannot have what the user asked for, another might.
using RecordMaker = std::function<absl::StatusOr<AgreedRecord>(const RoundFacts&)>;

// What an agent needs to know of a record before it keeps it.
struct CheckedRecord {
  std::string run_id;
  int64_t round = 0;
  std::string digest;
  // All of it, for who starts training on it.
  std::shared_ptr<const Record> record;
};

// Reads and verifies a record's text, its digest included.
using RecordChecker = std::function<absl::StatusOr<CheckedRecord>(absl::string_view text)>;

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGREED_RECORD_H_
