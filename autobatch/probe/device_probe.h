#ifndef AUTOBATCH_PROBE_DEVICE_PROBE_H_
#define AUTOBATCH_PROBE_DEVICE_PROBE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/search/search_options.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/report.h"

namespace autobatch {

// An earlier answer to the same question, from a cache or an identical device: verified by one
// trial before it counts.
struct FirstGuess {
  int64_t batch = 0;
  BatchBound bound = BatchBound::kMemory;
  // Margins that were measured then: without them the verifying trial would hold back defaults that
  // the answer never met.
  std::vector<Margin> measured;
};
BOOST_DESCRIBE_STRUCT(FirstGuess, (), (batch, bound, measured))

// What a device's confirmed result gives to the next probe; absent when it has none.
std::optional<FirstGuess> GuessFrom(const DeviceResult& result);

// What one device's search needs from outside.
struct DeviceProbeParts {
  TrialRunner& runner;
  const Clock& clock;
  // Told of every phase and step, and of every trial that ended. May be empty.
  std::function<void(const TrialSpec&, const Reply&)> on_progress;
  std::function<void(const Observation&)> on_trial;
  // Why the probe is being ended early, once it is; absent: go on.
  std::function<std::optional<Failure>()> stopped;
};

// The search's options for this device: what the user asked, what `devices` devices make of it, and
// a first guess from a cache or an identical device.
SearchOptions SearchOptionsFor(const ProbeSpec& spec, const Device& device, int64_t devices,
                               const std::optional<FirstGuess>& first_guess);

// Runs the search on one device to its end, its time limit, or `stopped`. A device that cannot be
// probed is a result with a failure; a Status is only for what breaks this process.
absl::StatusOr<DeviceResult> ProbeDevice(const ProbeSpec& spec, const Device& device,
                                         int64_t devices,
                                         const std::optional<FirstGuess>& first_guess,
                                         const DeviceProbeParts& parts);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_DEVICE_PROBE_H_
