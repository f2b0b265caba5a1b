// The plan of a job: every rank's micro-batches in every world size, from what its devices can
// take.

#include "orchestrator/plan/plan.h"

#include <unistd.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/standard_streams.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/node_summary.h"
#include "autobatch/report/text.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/json.h"
#include "autobatch/types/report.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/plan/elasticity.h"
#include "orchestrator/plan/plan_table.h"
#include "orchestrator/plan/resume.h"
#include "orchestrator/plan/straggler.h"
#include "orchestrator/service/global_batch_flags.h"
#include "tools/plan_document.h"
#include "tools/plan_options.h"

namespace autobatch {
namespace {

int Complain(const absl::Status& status, int exit_code) {
  const std::string hint = exit_code == kExitUsage ? "\nplan --help says what there is." : "";
  WriteAll(STDERR_FILENO, absl::StrCat("plan: ", EscapeControls(status.message()), hint, "\n"),
           "stderr")
      .IgnoreError();
  return exit_code;
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return kExitNothingFits;
    case absl::StatusCode::kInternal:
      return kExitInternal;
    default:
      return kExitUsage;
  }
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<NodeOutcomes> ReadNode(const std::string& path) {
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const absl::StatusOr<NodeReport> report = FromJson<NodeReport>(text);
  if (!report.ok()) return InFile(path, report.status());
  if (report->schema != kNodeReportSchema || report->devices.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no report of a probe (probe --json writes one)"));
  }
  NodeOutcomes node{.node = report->host.host};
  for (const DeviceResult& result : report->devices) node.devices.push_back(OutcomeOf(result));
  return node;
}

// A device that is in two reports would count twice.
absl::Status CheckDistinct(const std::vector<std::string>& paths,
                           const std::vector<NodeOutcomes>& nodes) {
  std::map<std::string, std::string> seen;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const DeviceOutcome& device : nodes[i].devices) {
      const auto [first, is_new] = seen.emplace(device.uuid, paths[i]);
      if (is_new) continue;
      return absl::InvalidArgumentError(absl::StrCat("device ", device.uuid, " is in ",
                                                     first->second, " and in ", paths[i],
                                                     ": give each node's report once"));
    }
  }
  return absl::OkStatus();
}

// What the reports of all nodes say.
absl::Status ReadReports(const PlanOptions& options, ClusterBatches& cluster,
                         PlanDocument& document) {
  std::vector<NodeOutcomes> nodes;
  for (const std::string& path : options.reports) {
    AB_ASSIGN_OR_RETURN(nodes.emplace_back(), ReadNode(path));
  }
  AB_RETURN_IF_ERROR(CheckDistinct(options.reports, nodes));
  AB_ASSIGN_OR_RETURN(document.straggler, FindStraggler(nodes));
  cluster.world_size = document.straggler->now.devices;
  cluster.minimum_batch = document.straggler->now.batch;
  if (cluster.minimum_batch < 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a device takes nothing, and no rank can be left out: ", document.straggler->node, " ",
        document.straggler->device.address, ": ", document.straggler->reason));
  }
  for (const NodeOutcomes& node : nodes) {
    for (const DeviceOutcome& device : node.devices) {
      // An answer that nothing has run is less certain than one whose search was cut short.
      if (device.status == ResultStatus::kEstimated ||
          document.certainty == ResultStatus::kConfirmed) {
        document.certainty = device.status;
      }
      if (!options.per_device) continue;
      cluster.shares.push_back({.uuid = device.uuid, .batch = device.batch});
    }
  }
  return absl::OkStatus();
}

// Fills in what the block says and the command line does not.
absl::StatusOr<ElasticityConfig> ApplyDeepSpeed(const PlanOptions& options, PlanRequest& request,
                                                ClusterBatches& cluster) {
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.deepspeed_path));
  const absl::StatusOr<boost::json::value> json = ParseJson(text);
  if (!json.ok()) return InFile(options.deepspeed_path, json.status());
  absl::StatusOr<ElasticityConfig> config = ReadElasticityConfig(*json);
  if (!config.ok()) return InFile(options.deepspeed_path, config.status());
  if (!options.has_model_parallel) request.model_parallel_size = config->model_parallel_size;
  if (cluster.minimum_batch == 0) {
    cluster.minimum_batch =
        *std::max_element(config->micro_batch_sizes.begin(), config->micro_batch_sizes.end());
  }
  if (options.has_rule || request.global_batch.has_value()) return config;
  // Version 0.1 has one batch for all worlds, and ours serves those too that DeepSpeed does not.
  const int64_t world_size =
      config->version == 0.1 ? 0 : options.world_size.value_or(cluster.world_size);
  const absl::StatusOr<ElasticBatch> batch = ComputeElasticBatch(*config, world_size);
  if (!batch.ok()) return InFile(options.deepspeed_path, batch.status());
  request.rule = GlobalBatchRule::kExact;
  request.global_batch = batch->global_batch;
  return config;
}

absl::StatusOr<int64_t> Ranks(absl::string_view flag, int64_t processes, int64_t replica) {
  if (processes % replica == 0) return processes / replica;
  return absl::InvalidArgumentError(absl::StrCat("--", flag, " ", processes, ": a replica takes ",
                                                 replica, " processes, and this is no multiple"));
}

absl::Status InFlags(const absl::Status& status) {
  return InGlobalBatchFlags(status, "world-size");
}

// From processes, as the launcher counts, to the ranks that share the samples.
absl::Status CountRanks(const PlanOptions& options, PlanRequest& request, ClusterBatches& cluster) {
  const int64_t replica = request.model_parallel_size;
  AB_RETURN_IF_ERROR(InFlags(ValidateRequest(request)));
  const int64_t processes = options.world_size.value_or(cluster.world_size);
  if (processes < 1 || processes > kMaxWorldSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("--world-size ", processes, ": from 1 to ", kMaxWorldSize, " is possible"));
  }
  AB_ASSIGN_OR_RETURN(cluster.world_size, Ranks("world-size", processes, replica));
  const int64_t most = options.max_world_size.value_or(processes);
  AB_ASSIGN_OR_RETURN(request.max_world_size, Ranks("max-world-size", most, replica));
  if (options.min_world_size.value_or(1) > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min-world-size ", *options.min_world_size, " is above ", most,
                     options.max_world_size.has_value() ? ", which is --max-world-size"
                                                        : ", the present world; --max-world-size N "
                                                          "is needed"));
  }
  if (options.min_world_size.has_value()) {
    AB_ASSIGN_OR_RETURN(request.min_world_size,
                        Ranks("min-world-size", *options.min_world_size, replica));
  } else {
    request.min_world_size = std::max<int64_t>(
        1, std::min(cluster.world_size, *request.max_world_size - kMaxPlanRows + 1));
  }
  return absl::OkStatus();
}

std::vector<DeepSpeedWorld> DeepSpeedWorlds(const ElasticityConfig& config, const Plan& plan) {
  std::vector<DeepSpeedWorld> worlds;
  for (const PlanRow& row : plan.rows) {
    const absl::StatusOr<ElasticBatch> batch = ComputeElasticBatch(config, row.processes);
    if (!batch.ok()) continue;
    worlds.push_back({.world_size = row.world_size,
                      .global_batch = batch->global_batch,
                      .micro_batch = batch->micro_batch.value_or(0)});
  }
  return worlds;
}

absl::StatusOr<PlanDocument> MakeDocument(const PlanOptions& options) {
  PlanDocument document{.request = options.request};
  ClusterBatches cluster{.minimum_batch = options.batch.value_or(0)};
  if (!options.shares.empty()) {
    cluster.world_size = static_cast<int64_t>(options.shares.size());
    cluster.minimum_batch = *std::min_element(options.shares.begin(), options.shares.end());
    for (const int64_t share : options.shares) {
      cluster.shares.push_back({absl::StrCat("rank ", cluster.shares.size()), share});
    }
  }
  if (!options.reports.empty()) {
    AB_RETURN_IF_ERROR(ReadReports(options, cluster, document));
  }
  std::optional<ElasticityConfig> deepspeed;
  if (!options.deepspeed_path.empty()) {
    AB_ASSIGN_OR_RETURN(deepspeed, ApplyDeepSpeed(options, document.request, cluster));
  }
  AB_RETURN_IF_ERROR(CountRanks(options, document.request, cluster));
  absl::StatusOr<Plan> made = MakePlan(document.request, cluster);
  if (!made.ok()) return InFlags(made.status());
  Plan plan = *std::move(made);
  if (deepspeed.has_value()) document.deepspeed = DeepSpeedWorlds(*deepspeed, plan);
  if (options.samples_seen.has_value()) {
    AB_ASSIGN_OR_RETURN(const PlanRow present,
                        RowFor(plan, cluster.world_size * document.request.model_parallel_size));
    AB_ASSIGN_OR_RETURN(const ResumePoint point,
                        ResumeAt(document.request, present, *options.samples_seen));
    document.resume =
        Resume{*options.samples_seen, point.epoch, point.samples_into_epoch, point.steps_left};
  }
  document.world_size = cluster.world_size;
  document.minimum_batch = cluster.minimum_batch;
  document.rows = std::move(plan.rows);
  document.unserved = std::move(plan.unserved);
  return document;
}

// An estimate is never called safe, and an ended search is never called the largest.
absl::string_view BatchWords(ResultStatus certainty) {
  switch (certainty) {
    case ResultStatus::kConfirmed:
      return "Safe batch ";
    case ResultStatus::kEstimated:
      return "Estimated batch, not run: ";
    case ResultStatus::kPartial:
    case ResultStatus::kFailed:
      break;
  }
  return "Largest batch confirmed so far: ";
}

std::string Text(const PlanDocument& document) {
  std::string text;
  if (document.straggler.has_value()) {
    absl::StrAppend(&text, StragglerText(*document.straggler), "\n");
  }
  const PlanRequest& request = document.request;
  absl::StrAppend(&text, BatchWords(document.certainty), FormatCount(document.minimum_batch),
                  "; rule ", EnumName(request.rule));
  if (request.global_batch.has_value()) {
    absl::StrAppend(&text, ", global batch ", FormatCount(*request.global_batch));
  }
  if (request.band_percent.has_value()) absl::StrAppend(&text, " ± ", *request.band_percent, " %");
  absl::StrAppend(&text, "; * is the present world, 3×57 are three micro-steps of 57 samples.\n");

  PlanTableOptions options{.present = document.world_size, .other_title = "DeepSpeed"};
  if (document.deepspeed.has_value()) {
    // An empty column would be none at all: where it can run nowhere, that is said below.
    for (const DeepSpeedWorld& world : *document.deepspeed) {
      options.other[world.world_size] =
          absl::StrCat(FormatCount(world.global_batch), " by ", FormatCount(world.micro_batch));
    }
  }
  absl::StrAppend(&text,
                  PlanTable({.rows = document.rows, .unserved = document.unserved}, options));
  if (document.deepspeed.has_value()) {
    absl::StrAppend(&text, "DeepSpeed could run in ", document.deepspeed->size(), " of these ",
                    document.rows.size(), " world sizes (its global batch by its micro-batch).\n");
  }
  if (document.resume.has_value()) {
    absl::StrAppend(&text, "After ", FormatCount(document.resume->samples_seen), " samples: epoch ",
                    FormatCount(document.resume->epoch), " (from 0), ",
                    FormatCount(document.resume->samples_into_epoch), " samples into it, ",
                    FormatCount(document.resume->steps_left), " steps of it left.\n");
  }
  return text;
}

absl::Status Write(const PlanOptions& options, const PlanDocument& document) {
  if (options.json_path == "-") {
    return WriteAll(STDOUT_FILENO, ToPrettyJson(document), "stdout");
  }
  if (!options.json_path.empty()) {
    AB_RETURN_IF_ERROR(WriteFileAtomically(options.json_path, ToPrettyJson(document)));
  }
  return WriteAll(STDOUT_FILENO, Text(document), "stdout");
}

int Main(int argc, char** argv) {
  const absl::StatusOr<PlanOptions> options =
      ParsePlanOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) return Complain(options.status(), kExitUsage);
  if (!options->print_and_exit.empty()) {
    const absl::Status written = WriteAll(STDOUT_FILENO, options->print_and_exit, "stdout");
    return written.ok() ? kExitOk : Complain(written, kExitInternal);
  }
  const absl::StatusOr<PlanDocument> document = MakeDocument(*options);
  if (!document.ok()) return Complain(document.status(), ExitCodeOf(document.status()));
  const absl::Status written = Write(*options, *document);
  return written.ok() ? kExitOk : Complain(written, kExitInternal);
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) {
  autobatch::ReserveStandardStreams();
  return autobatch::Main(argc, argv);
}
