#include "orchestrator/launch/worker_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/service/ask_agent.h"
#include "orchestrator/service/worker_share.h"

namespace autobatch {
namespace {

constexpr absl::Duration kAskAgain = absl::Milliseconds(200);

absl::Status StatusOf(const WorkerReply& reply) {
  switch (reply.verdict) {
    case WorkerVerdict::kGranted:
      return absl::OkStatus();
    case WorkerVerdict::kNoRecord:
    case WorkerVerdict::kWorldSize:
      return absl::NotFoundError(reply.message);
    case WorkerVerdict::kUnknownDevice:
      return absl::FailedPreconditionError(reply.message);
    case WorkerVerdict::kBadRequest:
      return absl::InvalidArgumentError(reply.message);
    case WorkerVerdict::kBusy:
    case WorkerVerdict::kLeaving:
      return absl::UnavailableError(reply.message);
  }
  return absl::InternalError("unknown verdict");
}

absl::Status CheckShare(const WorkerSource& source, const WorkerShare& share) {
  if (!source.run_id.empty() && share.run_id != source.run_id) {
    return absl::FailedPreconditionError(absl::StrCat("the agent at ", source.socket,
                                                      " serves run '", share.run_id,
                                                      "', and this is run '", source.run_id, "'"));
  }
  return CheckRealDevices(share.simulated, source.allow_simulated);
}

absl::StatusOr<WorkerReply> Granted(const Record& record, const std::string& path,
                                    const WorkerRequest& request) {
  AB_ASSIGN_OR_RETURN(WorkerShare share, ShareFor(record, path, {}, request));
  WorkerReply reply{.verdict = WorkerVerdict::kGranted, .variables = VariablesOf(share)};
  reply.share = std::move(share);
  return reply;
}

// A world that has just changed its size may be ahead of the agents' round: a record without a row
// for it is asked for again, for a while.
absl::StatusOr<WorkerReply> AskForThisWorld(const WorkerSource& source,
                                            const WorkerRequest& request) {
  const SteadyTime settled = std::min(source.deadline, Add(Clock::Real().Now(), source.settling));
  while (true) {
    absl::StatusOr<WorkerReply> reply = AskAgent(source.socket, request, source.deadline);
    // No question is left without the time for its answer: the last answer says what is wrong.
    if (!reply.ok() || reply->verdict != WorkerVerdict::kWorldSize ||
        Add(Clock::Real().Now(), 2 * kAskAgain) >= settled) {
      return reply;
    }
    absl::SleepFor(kAskAgain);
  }
}

absl::StatusOr<WorkerReply> FromAgent(const WorkerSource& source, const WorkerRequest& request) {
  AB_ASSIGN_OR_RETURN(WorkerReply reply, AskForThisWorld(source, request));
  AB_RETURN_IF_ERROR(StatusOf(reply));
  AB_RETURN_IF_ERROR(CheckShare(source, *reply.share));
  return reply;
}

absl::StatusOr<WorkerReply> FromFile(const WorkerSource& source, const WorkerRequest& request) {
  AB_ASSIGN_OR_RETURN(const Record record,
                      ReadStoredRecord(source.record, source.run_id, source.digest));
  AB_RETURN_IF_ERROR(CheckRealDevices(record.simulated, source.allow_simulated));
  return Granted(record, source.record, request);
}

// Whether it is for want of an agreement, and neither a mistake nor a sign of an attack.
bool MayFallBack(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status) ||
         absl::IsNotFound(status);
}

absl::StatusOr<WorkerReply> FallBack(const WorkerSource& source, const WorkerRequest& request,
                                     const absl::Status& why) {
  const std::string path =
      absl::StrCat(source.socket.empty() ? source.record : source.socket, ".fallback.json");
  const absl::StatusOr<Record> record =
      MakeFallbackRecord({.run_id = source.run_id.empty() ? "fallback" : source.run_id,
                          .batch = *source.fallback_batch,
                          .world_size = request.world_size},
                         source.digest);
  AB_RETURN_IF_ERROR(record.status());
  AB_RETURN_IF_ERROR(WriteFileAtomically(path, RecordText(*record)));
  source.warn(FallbackWarning(*source.fallback_batch, why.message()));
  return Granted(*record, path, request);
}

}  // namespace

absl::StatusOr<WorkerReply> ObtainShare(const WorkerSource& source, const WorkerRequest& request) {
  absl::StatusOr<WorkerReply> reply =
      source.socket.empty() ? FromFile(source, request) : FromAgent(source, request);
  if (reply.ok() || !source.fallback_batch.has_value() || !MayFallBack(reply.status())) {
    return reply;
  }
  return FallBack(source, request, reply.status());
}

int LaunchExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
      return kExitPeerLost;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitNotAuthorised;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
      return kExitNoAgreement;
    default:
      return kExitInternal;
  }
}

}  // namespace autobatch
