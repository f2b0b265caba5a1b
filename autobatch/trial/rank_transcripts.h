#ifndef AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_
#define AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_

#include <cstddef>
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
// process names none. Those on the same device hold it together.
class RankTranscripts {
 public:
  // `device_uuids`: the devices of the trial in the order in which the command sees them. A rank
  // that names a device must name one of them; of a single one that is empty, any.
  RankTranscripts(const TrialSpec& asked, std::vector<std::string> device_uuids)
      : asked_(asked),
        device_uuids_(std::move(device_uuids)),
        lines_(kMaxProtocolLine),
        results_(device_uuids_.size()) {}

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
  // Ranks that have said anything.
  int64_t spoke() const { return static_cast<int64_t>(ranks_.size()); }

  // Nothing more is waited for: a rank has failed, or every rank has its result.
  bool done() const { return done_; }
  // The device of the rank that failed first; absent: none did.
  const std::optional<size_t>& failed() const { return failed_; }
  // When done: of the rank on this device that needs most, with the peaks of all of them added up.
  // Absent when none of them spoke, and when a rank elsewhere failed.
  const std::optional<Observation>& result(size_t device = 0) const { return results_[device]; }

 private:
  struct Rank {
    TrialTranscript transcript;
    // What it says last of its device.
    std::optional<Hello> device;
  };

  absl::Status Take(const Reply& reply);
  // InvalidArgument: it names one that is not of the trial.
  absl::Status CheckDevice(const Hello& hello) const;
  size_t DeviceOf(int64_t rank) const;
  void Combine(bool ended);
  std::optional<Observation> Together(size_t device) const;
  // "only 1 of 2 ranks reported"; empty: all did.
  std::string MissingRanks() const;

  const TrialSpec asked_;
  const std::vector<std::string> device_uuids_;
  LineReader lines_;
  std::optional<int64_t> world_size_;
  std::map<int64_t, Rank> ranks_;
  std::optional<Hello> hello_;
  std::optional<TrialPhase> phase_;
  bool done_ = false;
  std::optional<size_t> failed_;
  std::vector<std::optional<Observation>> results_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_RANK_TRANSCRIPTS_H_
