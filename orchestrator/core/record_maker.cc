#include "orchestrator/core/record_maker.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"

namespace autobatch {
namespace {

absl::StatusOr<AgreedRecord> MakeAgreedRecord(const RecordOptions& options,
                                              const RoundFacts& facts) {
  int64_t processes = 0;
  std::vector<DeviceShare> ranks;
  AgreedRecord agreed;
  for (const RoundMember& member : facts.members) {
    processes += member.ranks;
    if (!options.per_device_shares) continue;
    NodeShares& own = agreed.shares.emplace_back();
    own.node = member.agent;
    for (const DeviceOutcome& device : member.devices) {
      if (static_cast<int64_t>(own.shares.size()) == member.ranks) break;
      own.shares.push_back({.uuid = device.uuid, .batch = device.batch});
    }
    ranks.insert(ranks.end(), own.shares.begin(), own.shares.end());
  }
  const int64_t replica = options.request.model_parallel_size;
  if (processes % replica != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("a replica of the model takes ", replica, " processes, and ", processes,
                     " ranks of this round are no multiple of it"));
  }
  Record record;
  record.run_id = facts.run_id;
  record.round = facts.round;
  record.autobatch_version = kVersion;
  record.created = options.created();
  record.config_digest = facts.config_digest;
  record.workload = facts.workload;
  record.simulated = facts.simulated;
  record.minimum_batch = facts.minimum_batch;
  record.minimum_node = facts.minimum_node;
  record.minimum_device = facts.minimum_device;
  record.world_size = processes / replica;
  record.request = options.request;
  if (options.per_device_shares) {
    record.shares_digest = SharesDigest(agreed.shares, options.digest);
  }
  AB_ASSIGN_OR_RETURN(record, MakeRecord(std::move(record), ranks, options.digest));
  agreed.text = RecordText(record);
  agreed.digest = record.digest;
  return agreed;
}

}  // namespace

RecordMaker MakeRecordMaker(RecordOptions options) {
  return [options = std::move(options)](const RoundFacts& facts) {
    return MakeAgreedRecord(options, facts);
  };
}

RecordChecker MakeRecordChecker(DigestFunction digest) {
  return [digest = std::move(digest)](absl::string_view text) -> absl::StatusOr<CheckedRecord> {
    AB_ASSIGN_OR_RETURN(Record record, ReadRecord(text, digest));
    CheckedRecord checked{.run_id = record.run_id, .round = record.round, .digest = record.digest};
    checked.record = std::make_shared<const Record>(std::move(record));
    return checked;
  };
}

}  // namespace autobatch
