#ifndef AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_
#define AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "autobatch/trial/line_reader.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/trial/trial_transcript.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/protocol.h"

namespace autobatch {

// What the processes of one command say during one trial, each for its rank. A command of one
// process names none. All of them are on the one device of the trial: together they hold it.
class RankTranscripts {
 public:
  // `device_uuid`: the device that they must name, if they name one; empty, any.
  RankTranscripts(const TrialSpec& asked, std::string device_uuid)
      : asked_(asked), device_uuid_(std::move(device_uuid)), lines_(kMaxProtocolLine) {}

  // Takes more bytes, and tells the first rank's phases and steps to `progress`. Errors are those
  // of TrialTranscript, and ranks that do not agree on their number.
  absl::Status Append(absl::string_view bytes, const ProgressFunction& progress);
  // The command is gone: what ranks that never spoke would have said is not waited for.
  void End();

  // Of the rank that spoke first.
  const std::optional<Hello>& hello() const { return hello_; }
  // Entered last, by any rank.
  const std::optional<TrialPhase>& phase() const { return phase_; }
  // Of the rank that is furthest behind.
  const std::vector<StepObservation>& steps() const;
  bool cut_short() const { return lines_.unfinished_bytes() > 0; }
  // The first failure of any rank, at once. Else, when every rank has its result, that of the rank
  // that needs most, with the peaks of all added up.
  const std::optional<Observation>& result() const { return result_; }

 private:
  absl::Status Take(const Reply& reply);
  void Combine(bool ended);
  Observation Together() const;

  const TrialSpec asked_;
  const std::string device_uuid_;
  LineReader lines_;
  std::optional<int64_t> world_size_;
  std::map<int64_t, TrialTranscript> ranks_;
  std::optional<Hello> hello_;
  std::optional<TrialPhase> phase_;
  std::optional<Observation> result_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_
