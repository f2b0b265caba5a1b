#ifndef TOOLS_PLAN_DOCUMENT_H_
#define TOOLS_PLAN_DOCUMENT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/report.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/straggler.h"

namespace autobatch {

inline constexpr char kPlanDocumentSchema[] = "autobatch.plan.v1";

// Where DeepSpeed could run, and how.
struct DeepSpeedWorld {
  int64_t world_size = 0;
  int64_t global_batch = 0;
  int64_t micro_batch = 0;
};
BOOST_DESCRIBE_STRUCT(DeepSpeedWorld, (), (world_size, global_batch, micro_batch))

// Where training goes on.
struct Resume {
  int64_t samples_seen = 0;
  int64_t epoch = 0;
  int64_t samples_into_epoch = 0;
  int64_t steps_left = 0;
};
BOOST_DESCRIBE_STRUCT(Resume, (), (samples_seen, epoch, samples_into_epoch, steps_left))

// What plan --json writes; orchestrator/plan/schema/plan.v1.json says what each field means.
struct PlanDocument {
  std::string schema = kPlanDocumentSchema;
  // Data-parallel ranks now, and what is safe on all of them.
  int64_t world_size = 0;
  int64_t minimum_batch = 0;
  // How the batches of the reports were found: the least certain of all.
  ResultStatus certainty = ResultStatus::kConfirmed;
  PlanRequest request;
  std::vector<PlanRow> rows;
  std::vector<Unserved> unserved;
  std::optional<Resume> resume;
  std::optional<std::vector<DeepSpeedWorld>> deepspeed;
  std::optional<StragglerReport> straggler;
};
BOOST_DESCRIBE_STRUCT(PlanDocument, (),
                      (schema, world_size, minimum_batch, certainty, request, rows, unserved,
                       resume, deepspeed, straggler))

}  // namespace autobatch

#endif  // TOOLS_PLAN_DOCUMENT_H_
