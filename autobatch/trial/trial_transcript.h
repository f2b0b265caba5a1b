#ifndef AUTOBATCH_TRIAL_TRIAL_TRANSCRIPT_H_
#define AUTOBATCH_TRIAL_TRIAL_TRANSCRIPT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "autobatch/trial/line_reader.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/protocol.h"

namespace autobatch {

// Reads more bytes of a child's: hands every reply to `take`, then tells phases and steps to
// `progress`. An error is one of a line, whose beginning it quotes, or of `take`; it is for good.
absl::Status ReadReplies(LineReader& lines, absl::string_view bytes,
                         absl::FunctionRef<absl::Status(const Reply&)> take,
                         const ProgressFunction& progress);

// What the child says during one trial, from any pieces of its bytes. Knows no process and no time.
class TrialTranscript {
 public:
  // `hello`: what the child said in an earlier trial; absent for a new process, which says it
  // first.
  // `device_uuid`: the device that it must name there, if it names one; empty, any.
  TrialTranscript(const TrialSpec& asked, std::optional<Hello> hello, std::string device_uuid = "")
      : asked_(asked),
        device_uuid_(std::move(device_uuid)),
        hello_(std::move(hello)),
        lines_(kMaxProtocolLine) {}

  // Takes more bytes and tells phases and steps to `progress`. An error says what is not the
  // protocol, or what a child of this state must not say; it is for good.
  absl::Status Append(absl::string_view bytes, const ProgressFunction& progress);
  // Takes one reply that was read already, with the same errors.
  absl::Status Take(const Reply& reply);

  const std::optional<Hello>& hello() const { return hello_; }
  const std::optional<TrialPhase>& phase() const { return phase_; }
  const std::vector<StepObservation>& steps() const { return steps_; }
  // The child ended in the middle of a line.
  bool cut_short() const { return lines_.unfinished_bytes() > 0; }
  // The trial's end: its result with all its steps. A child that cannot set up its workload may
  // give a failed result without a hello.
  const std::optional<Observation>& result() const { return result_; }

 private:
  const TrialSpec asked_;
  const std::string device_uuid_;
  std::optional<Hello> hello_;
  LineReader lines_;
  std::optional<TrialPhase> phase_;
  std::vector<StepObservation> steps_;
  std::optional<Observation> result_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_TRIAL_TRANSCRIPT_H_
