#include "orchestrator/dialect/device_count.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/counted.h"
#include "orchestrator/dialect/read_launcher.h"

namespace autobatch {

absl::Status CheckDeviceCount(const LauncherFacts& facts, int64_t devices) {
  if (facts.local_world_size.has_value() && *facts.local_world_size > devices) {
    return absl::FailedPreconditionError(absl::StrCat(
        DialectName(facts), " starts ", *facts.local_world_size, " ranks on this node, and it has ",
        Counted(devices, "device"),
        "; start one rank a device, or make the others visible (CUDA_VISIBLE_DEVICES)"));
  }
  if (facts.world_size_counts == WorldSizeCounts::kNodes && devices > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "WORLD_SIZE of ", DialectName(facts), " counts nodes, and this one has ", devices,
        " devices; say how many processes a node has (PET_NPROC_PER_NODE, nprocPerNode of the "
        "job), or start them by torchrun"));
  }
  return absl::OkStatus();
}

bool StartsTasks(Dialect dialect) {
  return dialect == Dialect::kSlurm || dialect == Dialect::kOpenMpi || dialect == Dialect::kMpich;
}

LauncherFacts WithoutOwnTask(LauncherFacts facts) {
  if (!StartsTasks(facts.dialect) || facts.local_world_size != 1) return facts;
  facts.rank.reset();
  facts.world_size.reset();
  facts.local_rank.reset();
  facts.local_world_size.reset();
  return facts;
}

std::string IdleDevices(const LauncherFacts& facts, int64_t devices) {
  if (!facts.local_world_size.has_value() || *facts.local_world_size >= devices) return "";
  const int64_t ranks = *facts.local_world_size;
  return absl::StrCat(DialectName(facts), " starts ", Counted(ranks, "rank"), " on ",
                      Counted(devices, "device"), " of this node: ", devices - ranks,
                      " stay idle; if what is started starts ranks of its own, say how many there "
                      "are in all: --world-size N");
}

}  // namespace autobatch
