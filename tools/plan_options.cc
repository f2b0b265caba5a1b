#include "tools/plan_options.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/flag_group.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/service/global_batch_flags.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

po::options_description AllOptions() {
  const auto devices =
      FlagGroup("What the devices can take (one of these)")
          .Value("batch", "N", "samples of a micro-step that are safe on every device")
          .Value("shares", "N,N,...", "each rank's own, in the order of the ranks")
          .Values("report", "FILE",
                  "what probe --json wrote on a node; once for each node. The least batch of all "
                  "devices counts; which one sets it, and why, is said too")
          .Switch("per-device", "with --report: each device takes its own batch");

  const auto job =
      FlagGroup("The job")
          .Value("world-size", "N",
                 "its processes now, as the launcher's WORLD_SIZE (default: one for each share or "
                 "device)")
          .Value("min-world-size", "N", "smallest world that gets a row (default: 1)")
          .Value("max-world-size", "N", "largest (default: the present one)")
          .Value("samples-seen", "N", "trained on so far: where training goes on")
          .Value(
              "deepspeed", "FILE",
              "a DeepSpeed configuration: its elasticity block gives batch, rule and global batch "
              "where they are not given here, and the table shows where DeepSpeed could run");

  const auto output = FlagGroup("Output")
                          .Value("json", "FILE|-", "write the plan; - is stdout, without table")
                          .HelpAndVersion();

  po::options_description all;
  return std::move(all.add(devices).add(job).add(GlobalBatchOptions()).add(output));
}

std::string HelpText() {
  std::ostringstream text;
  text
      << "plan: the micro-batches of every rank, for every world size.\n\n"
         "  plan --batch 77 --world-size 8                            all that is safe\n"
         "  plan --batch 77 --world-size 8 --global-batch 512         the same batch in every "
         "world\n"
         "  plan --batch 77 --world-size 8 --global-batch 512 --band 10\n"
         "  plan --report node-a.json --report node-b.json --per-device\n"
         "  plan --deepspeed config.json --world-size 8 --max-world-size 32\n"
      << AllOptions()
      << "\nA line of the table: ranks and their micro-steps (3×57: three of 57 samples), and what "
         "the mean\nloss of a micro-batch is multiplied by (n × world size / global batch).\n"
         "\nExit status:\n"
         "  0  a row for the present world    2  wrong usage\n"
         "  1  internal error, output lost    4  a device takes nothing, or the wish cannot be "
         "met\n";
  return text.str();
}

absl::StatusOr<std::vector<int64_t>> Shares(const std::string& text) {
  std::vector<int64_t> shares;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    AB_ASSIGN_OR_RETURN(const int64_t share, WholeNumber(std::string(part)));
    if (share < 1)
      return absl::InvalidArgumentError(absl::StrCat(share, ": a share is at least 1"));
    shares.push_back(share);
  }
  return shares;
}

absl::Status CheckSources(const PlanOptions& options) {
  const int given = (options.batch.has_value() ? 1 : 0) + (options.shares.empty() ? 0 : 1) +
                    (options.reports.empty() ? 0 : 1);
  if (given > 1) {
    return absl::InvalidArgumentError(
        "--batch, --shares and --report contradict: what the devices can take comes from one");
  }
  if (given == 0 && options.deepspeed_path.empty()) {
    return absl::InvalidArgumentError(
        "what can the devices take? --batch N, --shares N,N,... or --report FILE");
  }
  if (options.per_device && options.reports.empty()) {
    return absl::InvalidArgumentError("--per-device needs --report: whose batches are they?");
  }
  if (!options.world_size.has_value() && options.shares.empty() && options.reports.empty()) {
    return absl::InvalidArgumentError("--world-size N is needed: over how many processes?");
  }
  if (options.samples_seen.has_value() && !options.request.dataset_size.has_value()) {
    return absl::InvalidArgumentError(
        "--samples-seen needs --dataset-size: where does an epoch end?");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanOptions> ParsePlanOptions(std::span<const std::string> arguments) {
  AB_ASSIGN_OR_RETURN(const po::variables_map values,
                      ParseFlags(AllOptions(), arguments, "see --help"));
  PlanOptions options;
  FlagReader read(values);
  options.print_and_exit = HelpOrVersion(values, HelpText);
  if (!options.print_and_exit.empty()) return options;

  ReadGlobalBatchFlags(read, options.request);
  options.has_rule = read.Given("rule");
  options.has_model_parallel = read.Given("model-parallel-size");
  read.Read("batch", options.batch, WholeNumberFrom(1));
  read.Read("shares", options.shares, Shares);
  read.Read("world-size", options.world_size, WholeNumber);
  read.Read("min-world-size", options.min_world_size, WholeNumber);
  read.Read("max-world-size", options.max_world_size, WholeNumber);
  read.Read("samples-seen", options.samples_seen, WholeNumberFrom(0));
  options.per_device = read.Switch("per-device");
  for (const std::string& path : read.Texts("report")) {
    options.reports.push_back(ResolveUserPath(path));
  }
  read.Path("deepspeed", options.deepspeed_path);
  read.Output("json", options.json_path);
  AB_RETURN_IF_ERROR(read.status());
  AB_RETURN_IF_ERROR(CheckSources(options));
  return options;
}

}  // namespace autobatch
