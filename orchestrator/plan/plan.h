#ifndef ORCHESTRATOR_PLAN_PLAN_H_
#define ORCHESTRATOR_PLAN_PLAN_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/plan/plan_request.h"
#include "orchestrator/plan/plan_row.h"

namespace autobatch {

// What one device may load: samples of one micro-step.
struct DeviceShare {
  std::string uuid;
  int64_t batch = 0;
};
BOOST_DESCRIBE_STRUCT(DeviceShare, (), (uuid, batch))

// What the cluster has.
struct ClusterBatches {
  // Data-parallel ranks now.
  int64_t world_size = 0;
  // Samples of a micro-step that are safe on every device: the minimum over all of them.
  int64_t minimum_batch = 0;
  // Empty: every rank takes the minimum. Else one for each rank of the present world, in the order
  // of the ranks: the present world's row gives each device its own share. Rows of other sizes use
  // the minimum, for who will be in those worlds is not known. Not with model parallelism, where a
  // rank is several devices.
  std::vector<DeviceShare> shares;
};

// World sizes that have no row, and why.
struct Unserved {
  int64_t first = 0;
  int64_t last = 0;
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(Unserved, (), (first, last, reason))

struct Plan {
  // In the order of world sizes.
  std::vector<PlanRow> rows;
  std::vector<Unserved> unserved;
};
BOOST_DESCRIBE_STRUCT(Plan, (), (rows, unserved))

// A row for every world size from the request's minimum to its maximum that has at least one sample
// a rank.
//
//   MakePlan({.rule = GlobalBatchRule::kExact, .global_batch = 512},
//            {.world_size = 3, .minimum_batch = 77})
//       // world 3: 2 ranks take 57, 57, 57 and 1 rank 57, 57, 56 samples; 512 in all
//
// The same input gives the same plan, to the byte. InvalidArgument where request or batches make no
// sense (ValidateRequest), FailedPrecondition where the present world cannot have what is asked
// for, OutOfRange on overflow: each with the numbers, and what would work.
absl::StatusOr<Plan> MakePlan(const PlanRequest& request, const ClusterBatches& cluster);

// The row for a launcher's WORLD_SIZE, which counts processes. NotFound says which sizes there are,
// or why this one is not served.
absl::StatusOr<PlanRow> RowFor(const Plan& plan, int64_t processes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_PLAN_H_
