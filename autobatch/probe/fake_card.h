#ifndef AUTOBATCH_PROBE_FAKE_CARD_H_
#define AUTOBATCH_PROBE_FAKE_CARD_H_

#include <cstdint>
#include <string>

#include "autobatch/base/units.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"

namespace autobatch {

// What a fake card runs: a floor, so much a sample, and what is held outside the allocator.
struct FakeWork {
  int64_t floor = kGiB;
  int64_t sample = 100 * kMiB;
  int64_t outside = 50 * kMiB;

  int64_t Bytes(int64_t batch) const { return floor + sample * batch; }
};

// A GPU that nobody uses.
Device FakeCard(const std::string& uuid, int64_t bytes);

// A trial on it: out of memory where the work takes more than the budget. Deterministic.
Observation RunOnCard(const Device& card, const TrialSpec& trial, const FakeWork& work = {});

// What the margins hold back, all together.
int64_t Reserve(const DeviceResult& result);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_FAKE_CARD_H_
