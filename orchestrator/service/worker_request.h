#ifndef ORCHESTRATOR_SERVICE_WORKER_REQUEST_H_
#define ORCHESTRATOR_SERVICE_WORKER_REQUEST_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/plan/plan_row.h"

namespace autobatch {

inline constexpr char kWorkerRequestSchema[] = "autobatch.worker_request.v1";
inline constexpr char kWorkerReplySchema[] = "autobatch.worker_reply.v1";

// What a training process tells its node's agent of itself, and asks for its share: one JSON line
// over the agent's Unix socket. Numbers as the launcher gives them, ranks from 0.
struct WorkerRequest {
  std::string schema = kWorkerRequestSchema;
  // Processes of the job that runs now, model-parallel ones included.
  int64_t world_size = 0;
  int64_t rank = 0;
  int64_t local_rank = 0;
  int64_t local_world_size = 0;
  // The device that the process trains on. Absent: not known yet; then it gets what every device of
  // the job may load.
  std::optional<std::string> device_uuid;
  // While there is no committed record, the agent holds its answer back for so long: a restart is
  // usually faster than the round that it waits for.
  int64_t wait_ms = 0;
};
BOOST_DESCRIBE_STRUCT(WorkerRequest, (),
                      (schema, world_size, rank, local_rank, local_world_size, device_uuid,
                       wait_ms))

enum class WorkerVerdict {
  kGranted,        // The share is in the reply.
  kNoRecord,       // None was committed within the time that the process waits.
  kWorldSize,      // The record has no row for this world size.
  kUnknownDevice,  // The agent has no such device.
  kBadRequest,     // Not understood, or numbers that contradict each other.
  kBusy,           // The agent serves as many processes as it may.
  kLeaving,        // The agent is being ended.
};
BOOST_DESCRIBE_ENUM(WorkerVerdict, kGranted, kNoRecord, kWorldSize, kUnknownDevice, kBadRequest,
                    kBusy, kLeaving)

// One variable of the environment.
struct WorkerVariable {
  std::string name;
  std::string value;
};
BOOST_DESCRIBE_STRUCT(WorkerVariable, (), (name, value))

// The row of the world that runs, and this process's own share of it.
struct WorkerShare {
  std::string run_id;
  int64_t round = 0;
  // The committed record's digest: equal on all ranks that train together.
  std::string digest;
  std::string record_path;
  // As the launcher counts: processes.
  int64_t world_size = 0;
  int64_t rank = 0;
  // Data-parallel ranks (replicas of the model), and the one that this process belongs to.
  int64_t replicas = 0;
  int64_t replica = 0;
  // Samples of all ranks in one optimizer step.
  int64_t global_batch = 0;
  // Micro-steps of each optimizer step; the same on every rank.
  int64_t accumulation = 0;
  // This rank's largest micro-batch, and its micro-steps in order.
  int64_t micro_batch = 0;
  std::vector<MicroSteps> steps;
  // What a micro-batch's mean loss is multiplied by: the mean over this rank's micro-steps, and the
  // weight of each where they are equal. One of n samples weighs n * replicas / global_batch.
  double weight = 0;
  double lr_factor = 1;
  // Optimizer steps; absent: the data set's size is not known.
  std::optional<int64_t> steps_per_epoch;
  // The job started on a batch that was stated, not agreed.
  bool fallback = false;
  bool simulated = false;
};
BOOST_DESCRIBE_STRUCT(WorkerShare, (),
                      (run_id, round, digest, record_path, world_size, rank, replicas, replica,
                       global_batch, accumulation, micro_batch, steps, weight, lr_factor,
                       steps_per_epoch, fallback, simulated))

// The agent's answer, one JSON line.
struct WorkerReply {
  std::string schema = kWorkerReplySchema;
  WorkerVerdict verdict = WorkerVerdict::kBadRequest;
  // Why there is no share, in words.
  std::string message;
  std::optional<WorkerShare> share;
  // AUTOBATCH_*: what training is handed.
  std::vector<WorkerVariable> variables;
};
BOOST_DESCRIBE_STRUCT(WorkerReply, (), (schema, verdict, message, share, variables))

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_WORKER_REQUEST_H_
