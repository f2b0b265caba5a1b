#include "orchestrator/launch/stored_record.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"
#include "autobatch/report/text.h"

namespace autobatch {
namespace {

absl::Status InFile(const absl::Status& status, const std::string& path, absl::string_view advice) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message(), "; ", advice));
}

}  // namespace

absl::StatusOr<Record> ReadStoredRecord(const std::string& path, absl::string_view run_id,
                                        const DigestFunction& digest) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("no committed record: ", text.status().message(),
                                     "; an agent or an init container of this node writes it once "
                                     "the cluster has agreed"));
  }
  absl::StatusOr<Record> record = ReadRecord(*text, digest);
  if (absl::IsPermissionDenied(record.status())) {
    return InFile(absl::DataLossError(record.status().message()), path,
                  "give the --secret-file that the run's agents have, or let them agree again");
  }
  if (!record.ok()) {
    return InFile(absl::DataLossError(record.status().message()), path,
                  "let the agents agree again");
  }
  if (!run_id.empty() && record->run_id != run_id) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": this is the record of run '", EscapeControls(record->run_id),
                     "', and --run-id is '", run_id, "'; remove it, or give the right one"));
  }
  return record;
}

absl::Status CheckRealDevices(bool simulated, bool allowed) {
  if (!simulated || allowed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a batch that was found on simulated devices is none that training may rely on; probe the "
      "real ones, or give --allow-simulated to try the launch itself");
}

absl::StatusOr<Record> MakeFallbackRecord(const FallbackRequest& request,
                                          const DigestFunction& digest) {
  const int64_t replica = request.plan.model_parallel_size;
  if (request.world_size % replica != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a replica of the model takes ", replica,
                                                   " processes, and ", request.world_size,
                                                   " are no multiple of it"));
  }
  Record facts;
  facts.run_id = request.run_id;
  facts.round = request.last_round + 1;
  facts.autobatch_version = kVersion;
  facts.fallback = true;
  facts.minimum_batch = request.batch;
  facts.world_size = request.world_size / replica;
  facts.request = request.plan;
  return MakeRecord(std::move(facts), {}, digest);
}

std::string FallbackWarning(int64_t batch, absl::string_view why) {
  const std::string rule(78, '!');
  return absl::StrCat(rule, "\nNO AGREEMENT: training starts on --fallback-batch ", batch,
                      ", which nothing has run on any device.\nIt may run out of memory, and ranks "
                      "that did agree would train on another batch.\nWhy: ",
                      why, "\n", rule, "\n");
}

}  // namespace autobatch
