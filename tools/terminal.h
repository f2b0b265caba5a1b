#ifndef TOOLS_TERMINAL_H_
#define TOOLS_TERMINAL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "autobatch/probe/node_probe.h"
#include "autobatch/report/progress.h"
#include "autobatch/types/device.h"

namespace autobatch {

// Shows a probe's progress on stderr: on a terminal one live line a device, elsewhere one line a
// trial.
class Terminal final : public ProbeObserver {
 public:
  explicit Terminal(std::vector<Device> devices);

  void OnProgress(size_t device, const TrialSpec& trial, const Reply& reply) override;
  void OnTrial(size_t device, const Observation& observation) override;
  void OnDevice(size_t device, const DeviceResult& result) override;

  // Takes the live lines away, before anything else is written.
  void Clear();

  // Columns of the terminal at `descriptor`; `otherwise` if it is none.
  static int Width(int descriptor, int otherwise);

 private:
  static void Write(absl::string_view text);

  const std::vector<Device> devices_;
  const bool is_terminal_;
  LiveLines live_;
  std::vector<LiveEvent> events_;
};

}  // namespace autobatch

#endif  // TOOLS_TERMINAL_H_
