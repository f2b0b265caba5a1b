#include "orchestrator/service/worker_share.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/plan/plan_row.h"

namespace autobatch {
namespace {

// What a reader of any language gets back to the bit.
std::string Exactly(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

std::string MicroBatches(const std::vector<MicroSteps>& steps) {
  return absl::StrJoin(steps, ",", [](std::string* out, const MicroSteps& part) {
    absl::StrAppend(out, part.micro_batch, "x", part.count);
  });
}

// The device that this process trains on; nothing: it is not known.
std::optional<std::string> DeviceOf(const WorkerRequest& request,
                                    std::span<const std::string> devices) {
  if (request.device_uuid.has_value()) return request.device_uuid;
  if (static_cast<int64_t>(devices.size()) != request.local_world_size) return std::nullopt;
  return devices[static_cast<size_t>(request.local_rank)];
}

absl::Status CheckDevice(const WorkerRequest& request, std::span<const std::string> devices) {
  if (!request.device_uuid.has_value() || devices.empty()) return absl::OkStatus();
  if (std::find(devices.begin(), devices.end(), *request.device_uuid) != devices.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", request.rank, " trains on ", *request.device_uuid,
      ", which this node's agent did not profile; it has ", absl::StrJoin(devices, ", ")));
}

absl::StatusOr<RankShare> OwnPart(const PlanRow& row, int64_t replica,
                                  std::span<const std::string> devices,
                                  const WorkerRequest& request) {
  if (row.devices.empty()) return ShareOfRank(row, replica);
  const std::optional<std::string> device = DeviceOf(request, devices);
  if (!device.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("every device has a share of its own in this record, and rank ", request.rank,
                     " does not say which device it trains on (", request.local_world_size,
                     " processes on a node of ", devices.size(), " devices)"));
  }
  absl::StatusOr<RankShare> share = ShareOfDevice(row, *device);
  if (share.ok()) return share;
  return absl::FailedPreconditionError(share.status().message());
}

}  // namespace

absl::Status ValidateRequest(const WorkerRequest& request) {
  const auto wrong = [](absl::string_view what, int64_t value, absl::string_view right) {
    return absl::InvalidArgumentError(absl::StrCat(what, " ", value, ": expected ", right));
  };
  if (request.schema != kWorkerRequestSchema) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema '", request.schema, "': this agent speaks ", kWorkerRequestSchema));
  }
  if (request.world_size < 1) return wrong("world_size", request.world_size, "1 or more");
  if (request.rank < 0 || request.rank >= request.world_size) {
    return wrong("rank", request.rank, absl::StrCat("0 to ", request.world_size - 1));
  }
  if (request.local_world_size < 1 || request.local_world_size > request.world_size) {
    return wrong("local_world_size", request.local_world_size,
                 absl::StrCat("1 to ", request.world_size));
  }
  if (request.local_rank < 0 || request.local_rank >= request.local_world_size) {
    return wrong("local_rank", request.local_rank,
                 absl::StrCat("0 to ", request.local_world_size - 1));
  }
  if (request.wait_ms < 0) return wrong("wait_ms", request.wait_ms, "0 or more");
  return absl::OkStatus();
}

absl::StatusOr<WorkerShare> ShareFor(const Record& record, const std::string& record_path,
                                     std::span<const std::string> devices,
                                     const WorkerRequest& request) {
  AB_RETURN_IF_ERROR(ValidateRequest(request));
  AB_RETURN_IF_ERROR(CheckDevice(request, devices));
  AB_ASSIGN_OR_RETURN(const PlanRow row, RowFor(record.plan, request.world_size));
  const int64_t replica = request.rank / record.request.model_parallel_size;
  AB_ASSIGN_OR_RETURN(RankShare part, OwnPart(row, replica, devices, request));
  return WorkerShare{.run_id = record.run_id,
                     .round = record.round,
                     .digest = record.digest,
                     .record_path = record_path,
                     .world_size = request.world_size,
                     .rank = request.rank,
                     .replicas = row.world_size,
                     .replica = replica,
                     .global_batch = part.global_batch,
                     .accumulation = part.accumulation,
                     .micro_batch = part.micro_batch,
                     .steps = std::move(part.steps),
                     .weight = part.weight,
                     .lr_factor = row.lr_factor,
                     .steps_per_epoch = row.steps_per_epoch,
                     .fallback = record.fallback,
                     .simulated = record.simulated};
}

std::vector<WorkerVariable> VariablesOf(const WorkerShare& share) {
  std::vector<WorkerVariable> variables = {
      {"AUTOBATCH_MICRO_BATCH", absl::StrCat(share.micro_batch)},
      {"AUTOBATCH_ACCUMULATION", absl::StrCat(share.accumulation)},
      {"AUTOBATCH_GLOBAL_BATCH", absl::StrCat(share.global_batch)},
      {"AUTOBATCH_WEIGHT", Exactly(share.weight)},
      {"AUTOBATCH_LR_FACTOR", Exactly(share.lr_factor)},
      {"AUTOBATCH_WORLD_SIZE", absl::StrCat(share.world_size)},
      {"AUTOBATCH_RANK", absl::StrCat(share.rank)},
      {"AUTOBATCH_ROUND", absl::StrCat(share.round)},
      {"AUTOBATCH_RUN_ID", share.run_id},
      {"AUTOBATCH_RECORD", share.record_path},
      {"AUTOBATCH_DIGEST", share.digest}};
  if (share.steps_per_epoch.has_value()) {
    variables.push_back({"AUTOBATCH_STEPS_PER_EPOCH", absl::StrCat(*share.steps_per_epoch)});
  }
  if (share.steps.size() > 1) {
    variables.push_back({"AUTOBATCH_MICRO_BATCHES", MicroBatches(share.steps)});
  }
  if (share.fallback) variables.push_back({"AUTOBATCH_FALLBACK", "1"});
  if (share.simulated) variables.push_back({"AUTOBATCH_SIMULATED", "1"});
  return variables;
}

}  // namespace autobatch
