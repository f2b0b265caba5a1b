#ifndef ORCHESTRATOR_PLAN_RECORD_H_
#define ORCHESTRATOR_PLAN_RECORD_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/plan/plan.h"

namespace autobatch {

inline constexpr char kRecordSchema[] = "autobatch.record.v1";

// Turns bytes into their digest as text: keyed where the run has a secret. Injected, since this
// room has no cryptography.
using DigestFunction = std::function<std::string(absl::string_view)>;

// What a round commits: the same bytes on every node.
//
//   AB_ASSIGN_OR_RETURN(Record record, MakeRecord(facts, request, cluster, digest));
//   std::string file = RecordText(record);
//   ...
//   AB_ASSIGN_OR_RETURN(Record record, ReadRecord(file, digest));
//   AB_ASSIGN_OR_RETURN(PlanRow row, RowFor(record.plan, world_size));
struct Record {
  std::string schema = kRecordSchema;
  std::string run_id;
  // Above 0, and strictly increasing over a run.
  int64_t round = 0;
  std::string autobatch_version;
  // RFC 3339; for people, nothing depends on it.
  std::string created;
  // Of the configuration that all nodes share.
  std::string config_digest;
  // Its name.
  std::string workload;
  bool simulated = false;
  // The minimum was stated by the user (--fallback-batch), because no agreement was reached.
  bool fallback = false;
  // The safe micro-batch, and who set it; both empty in a fallback.
  int64_t minimum_batch = 0;
  std::string minimum_node;
  std::string minimum_device;
  // Data-parallel ranks now.
  int64_t world_size = 0;
  PlanRequest request;
  Plan plan;
  // Over what each node's devices may load (SharesDigest); each node gets its own beside the
  // record.
  std::string shares_digest;
  // Over all of the above.
  std::string digest;
};
BOOST_DESCRIBE_STRUCT(Record, (),
                      (schema, run_id, round, autobatch_version, created, config_digest, workload,
                       simulated, fallback, minimum_batch, minimum_node, minimum_device, world_size,
                       request, plan, shares_digest, digest))

// What one node's devices may load, each on its own.
struct NodeShares {
  std::string node;
  std::vector<DeviceShare> shares;
};
BOOST_DESCRIBE_STRUCT(NodeShares, (), (node, shares))

// Completes a record whose facts are given: makes the plan from its request, minimum batch and
// world size (`shares` as in ClusterBatches; mostly empty), then its digest. Errors as MakePlan's
// and ValidateRecord's.
absl::StatusOr<Record> MakeRecord(Record facts, const std::vector<DeviceShare>& shares,
                                  const DigestFunction& digest);

// The record as it is sent and stored: one line of JSON.
std::string RecordText(const Record& record);

// Reads it back; fields of a newer version count for the digest and mean nothing else.
// InvalidArgument where it is no record (not JSON, a field of the wrong type, another schema,
// numbers that do not agree), PermissionDenied where the digest is not that of the content:
// damaged, tampered with, or of another run.
absl::StatusOr<Record> ReadRecord(absl::string_view text, const DigestFunction& digest);

// Whether the numbers are in range and agree with each other, for a record that comes from a file
// or a peer. InvalidArgument names the field. Says nothing of the digest.
absl::Status ValidateRecord(const Record& record);

// The digest over all nodes' shares, in whatever order they are given.
std::string SharesDigest(std::span<const NodeShares> shares, const DigestFunction& digest);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_RECORD_H_
