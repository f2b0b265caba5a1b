#ifndef TOOLS_TRIAL_LINES_H_
#define TOOLS_TRIAL_LINES_H_

#include <cstddef>
#include <vector>

#include "autobatch/probe/node_probe.h"
#include "autobatch/report/progress.h"
#include "autobatch/types/device.h"
#include "tools/progress_lines.h"

namespace autobatch {

// One line a trial, as the probe's where there is no terminal. Both outlive it.
class TrialLines final : public ProbeObserver {
 public:
  TrialLines(const std::vector<Device>& devices, ProgressLines& lines)
      : devices_(devices), lines_(lines) {}

  void OnProgress(size_t, const TrialSpec&, const Reply&) override {}
  void OnTrial(size_t device, const Observation& observation) override {
    lines_.Say(TrialLine(devices_[device], observation));
  }
  void OnDevice(size_t, const DeviceResult&) override {}

 private:
  const std::vector<Device>& devices_;
  ProgressLines& lines_;
};

}  // namespace autobatch

#endif  // TOOLS_TRIAL_LINES_H_
