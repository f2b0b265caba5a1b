#include "orchestrator/nccl/verdicts.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"

namespace autobatch {

absl::Status MinimaAgree(int64_t over_tcp, int64_t over_nccl) {
  if (over_tcp == over_nccl) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the minimum over TCP is ", over_tcp,
                                          ", over NCCL it is ", over_nccl, ": neither is used"));
}

CommunicatorVerdict JudgeCommunicator(int64_t assumed_bytes,
                                      std::optional<int64_t> measured_bytes) {
  CommunicatorVerdict verdict = {.margin_bytes = assumed_bytes};
  if (!measured_bytes.has_value()) {
    verdict.text =
        absl::StrCat("communicator: not measured, ", FormatBytes(assumed_bytes), " stay held back");
  } else if (*measured_bytes <= assumed_bytes) {
    verdict.text = absl::StrCat("communicator: measured ", FormatBytes(*measured_bytes),
                                ", within the ", FormatBytes(assumed_bytes), " held back");
  } else {
    verdict.margin_bytes = *measured_bytes;
    verdict.confirm_again = true;
    verdict.text =
        absl::StrCat("communicator: measured ", FormatBytes(*measured_bytes), ", more than the ",
                     FormatBytes(assumed_bytes), " held back: confirming once more");
  }
  return verdict;
}

}  // namespace autobatch
