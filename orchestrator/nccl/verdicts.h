#ifndef AUTOBATCH_NCCL_VERDICTS_H_
#define AUTOBATCH_NCCL_VERDICTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace autobatch {

// What follows from the answers of NCCL; pure.

// OK where both ways to the minimum gave the same. Otherwise DataLoss with both values: one of the
// two has lost or changed a rank's number, and no batch can be believed.
absl::Status MinimaAgree(int64_t over_tcp, int64_t over_nccl);

struct CommunicatorVerdict {
  // bytes; the communicator margin from now on.
  int64_t margin_bytes = 0;
  // The batches were confirmed while less than that was held back: confirm once more.
  bool confirm_again = false;
  // One line for people.
  std::string text;
};

// `assumed_bytes`: the communicator margin under which the batches were confirmed.
// `measured_bytes`: the most that any device gave (CommunicatorBytes); absent: nobody could tell,
// and what was assumed stays. The margin never shrinks here: what was confirmed under the larger
// one holds.
CommunicatorVerdict JudgeCommunicator(int64_t assumed_bytes, std::optional<int64_t> measured_bytes);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_VERDICTS_H_
