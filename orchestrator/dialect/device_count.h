#ifndef ORCHESTRATOR_DIALECT_DEVICE_COUNT_H_
#define ORCHESTRATOR_DIALECT_DEVICE_COUNT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

// Ranks that the launcher started here against the devices that this node reports. `devices` is
// what all ranks of the node see together. FailedPrecondition: more ranks than devices, or
// WORLD_SIZE that counts nodes where processes are due. OK otherwise.
absl::Status CheckDeviceCount(const LauncherFacts& facts, int64_t devices);

// Whether its processes are tasks that may be anything: ranks, agents, or launchers of their own.
bool StartsTasks(Dialect dialect);

// What the launcher says of training to an agent in a step of its own: where it started one task a
// node, that is the agent, and its counts say nothing of the ranks that will train.
LauncherFacts WithoutOwnTask(LauncherFacts facts);

// "1 rank is started on 8 devices: 7 stay idle": fewer ranks than devices; "" otherwise.
std::string IdleDevices(const LauncherFacts& facts, int64_t devices);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_DEVICE_COUNT_H_
