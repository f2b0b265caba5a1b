#include "autobatch/simcuda/faults.h"

#include <optional>
#include <utility>
#include <vector>

#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

// The error, or "".
std::string Set(FaultPlan& plan, std::string_view key, std::string_view value) {
  const std::string bad = "'" + std::string(value) + "' is no value of " + std::string(key);
  if (key == "oom_in") {
    if (value != "backward") return bad + ": backward";
    plan.oom_in_backward = true;
    return "";
  }
  if (key == "stolen") {
    const size_t at = value.find('@');
    const auto bytes = ParseBytes(Trim(value.substr(0, at)));
    const auto when = at == std::string_view::npos ? std::optional<uint64_t>(1)
                                                   : ParseNumber(Trim(value.substr(at + 1)));
    if (!bytes || !when || *when == 0) return bad + "; write it like 2GiB@40";
    plan.stolen_bytes = *bytes;
    plan.stolen_at = *when;
    return "";
  }
  const auto number = ParseNumber(value);
  if (!number) return bad + ": a whole number";
  if (key == "spill") {
    plan.spill = *number != 0;
    return "";
  }
  if (key == "nccl_abort_hangs") {
    plan.nccl_abort_hangs = *number != 0;
    return "";
  }
  const std::pair<std::string, uint64_t*> numbers[] = {
      {"oom_at", &plan.oom_at},
      {"oom_count", &plan.oom_count},
      {"oom_from_batch", &plan.oom_from_batch},
      {"launch_error_at", &plan.launch_error_at},
      {"lost_at", &plan.lost_at},
      {"hang_at", &plan.hang_at},
      {"crash_at", &plan.crash_at},
      {"nccl_less", &plan.nccl_less},
  };
  std::vector<std::string> names = {"oom_in", "stolen", "spill", "nccl_abort_hangs"};
  for (const auto& [name, field] : numbers) {
    if (name == key) {
      *field = *number;
      return "";
    }
    names.push_back(name);
  }
  return "unknown fault '" + std::string(key) + "'; the nearest is '" + NearestName(key, names) +
         "'";
}

}  // namespace

std::string_view FaultHelp() {
  return "  oom_at=N            the N-th allocation of device memory fails, and every later one\n"
         "  oom_count=N         of those only N fail (the framework tries each up to three times)\n"
         "  oom_in=backward     only allocations of the backward pass count for oom_at (default: "
         "1)\n"
         "  oom_from_batch=N    allocations fail once a convolution over N samples was asked for\n"
         "  launch_error_at=N   the N-th kernel is an illegal memory access, the context is lost\n"
         "  lost_at=N           at that kernel the device falls off the bus\n"
         "  hang_at=N           that kernel never ends\n"
         "  crash_at=N          the process dies of SIGSEGV at that kernel\n"
         "  spill=1             memory above the card's is given out, and steps take 20 times as "
         "long\n"
         "  stolen=2GiB@N       another process takes 2 GiB at the N-th allocation\n"
         "  nccl_less=N         64-bit integers that this process gives to a collective are N "
         "less\n"
         "  nccl_abort_hangs=1  aborting a communicator does not return\n";
}

ParsedFaults ParseFaults(std::string_view text) {
  ParsedFaults result;
  for (const std::string_view entry : Split(text, ';')) {
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    result.error =
        equals == std::string_view::npos
            ? "'" + std::string(entry) + "' is no fault such as oom_at=17"
            : Set(result.plan, Trim(entry.substr(0, equals)), Trim(entry.substr(equals + 1)));
    if (!result.error.empty()) return result;
  }
  FaultPlan& plan = result.plan;
  if (plan.oom_in_backward && plan.oom_at == 0) plan.oom_at = 1;
  return result;
}

}  // namespace autobatch::simcuda
