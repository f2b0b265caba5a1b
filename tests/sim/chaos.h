#ifndef TESTS_SIM_CHAOS_H_
#define TESTS_SIM_CHAOS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/sabotage.h"

namespace autobatch::sim {

// What one seed came to.
struct ChaosOutcome {
  uint64_t seed = 0;
  // Empty: every promise was kept.
  std::vector<std::string> violations;
  int64_t commits = 0;
  int64_t faults = 0;
  std::string log;
};

// One cluster's bad quarter of an hour, all of it drawn from the seed: its size, its rules, and
// what happens to it (kills, restarts, stops, partitions of one or both ways, slow links, full
// disks, strangers, messages that come twice). Then everything is mended, and the cluster has two
// minutes to agree on a record of all that live.
ChaosOutcome RunChaos(uint64_t seed, Sabotage sabotage = Sabotage::kNone);

}  // namespace autobatch::sim

#endif  // TESTS_SIM_CHAOS_H_
