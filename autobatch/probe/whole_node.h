#ifndef AUTOBATCH_PROBE_WHOLE_NODE_H_
#define AUTOBATCH_PROBE_WHOLE_NODE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/memory/budget.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/trial/node_trial_runner.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/report.h"

namespace autobatch {

// All devices of a node as one, to a search: each trial runs on all of them, each with its own
// budget and margins, and what the search is told is the observation of the fullest, the device
// whose budget has least left above its peak. Every other device has more left, so a batch that is
// within the fullest one's budget is within all.
class WholeNode final : public TrialRunner {
 public:
  // Told of every trial that ended, one observation a device. May be empty.
  using Told = std::function<void(std::span<const Observation>)>;

  // InvalidArgument: a device without what the margins need. `runner` outlives it.
  static absl::StatusOr<std::unique_ptr<WholeNode>> Create(const ProbeSpec& spec,
                                                           std::span<const Device> devices,
                                                           NodeTrialRunner& runner, Told told);

  absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime deadline,
                                  const ProgressFunction& progress) override;
  void Cancel() override { runner_.Cancel(); }

  // Of the device with the least room, which the search is set up for.
  const Device& narrowest() const { return devices_[narrowest_]; }

  // `whole`, what the search of narrowest() came to, as each device's own result: the answer is
  // common, peak, budget, margins and trials are its own. One device set the answer: the others'
  // bound is kOtherDevice.
  std::vector<DeviceResult> Split(const DeviceResult& whole) const;

 private:
  // What one device has shown.
  struct Share {
    BudgetModel budget;
    std::vector<Observation> observations;
    // By its margins as they are known now; absent: nobody can tell.
    std::optional<int64_t> BudgetOf(const Observation& seen) const;
  };

  WholeNode(std::span<const Device> devices, NodeTrialRunner& runner, Told told,
            std::vector<Share> shares, size_t narrowest)
      : devices_(devices.begin(), devices.end()),
        runner_(runner),
        told_(std::move(told)),
        shares_(std::move(shares)),
        searchs_(shares_[narrowest].budget),
        narrowest_(narrowest) {}

  // The device with least left in this trial.
  size_t Fullest(size_t trial) const;
  // The device that kept the answer from being larger.
  size_t Setter(const DeviceResult& whole) const;

  const std::vector<Device> devices_;
  NodeTrialRunner& runner_;
  const Told told_;
  std::vector<Share> shares_;
  // As the search's own model, which learns from what is returned.
  BudgetModel searchs_;
  const size_t narrowest_;
  // Of each trial, the device that failed it; absent: it ran.
  std::vector<std::optional<size_t>> failed_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_WHOLE_NODE_H_
