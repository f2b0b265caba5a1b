#ifndef ORCHESTRATOR_WIRE_AGENT_MESSAGES_H_
#define ORCHESTRATOR_WIRE_AGENT_MESSAGES_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/plan/device_outcome.h"

// What an agent says to the coordinator. See messages.h.
namespace autobatch {

// A device as its agent first names it, before it was probed.
struct AnnouncedDevice {
  std::string uuid;
  std::string name;
  std::optional<int64_t> total_bytes;
};
BOOST_DESCRIBE_STRUCT(AnnouncedDevice, (), (uuid, name, total_bytes))

// A setting or a version by name, in words: what is compared and shown, never computed with.
struct NamedValue {
  std::string name;
  std::string value;
};
BOOST_DESCRIBE_STRUCT(NamedValue, (), (name, value))

// What the launcher's environment claims; absent where it says nothing.
struct LauncherClaims {
  // "torchrun", "slurm", …; empty: none was seen.
  std::string launcher;
  // Processes of the whole job, nodes of the whole job, and processes of this agent's node.
  std::optional<int64_t> world_size;
  std::optional<int64_t> node_count;
  std::optional<int64_t> local_world_size;
};
BOOST_DESCRIBE_STRUCT(LauncherClaims, (), (launcher, world_size, node_count, local_world_size))

// The first message of a connection. Its round is the last that the agent prepared or saw the
// commit of.
struct AgentHello {
  std::string run_id;
  int64_t round = 0;
  // A name that no other agent of the run has, and one random word for each start of it.
  std::string agent;
  std::string incarnation;
  // Agents with one boot id are one node.
  std::string boot_id;
  std::optional<int64_t> node_rank;
  std::vector<AnnouncedDevice> devices;
  LauncherClaims launcher;
  // Settings that must agree in the whole run, and the digest of them all.
  std::vector<NamedValue> config;
  std::string config_digest;
  // "autobatch", and what else is worth comparing: "libtorch", "nccl", "driver".
  std::vector<NamedValue> versions;
  // Digests of the record of `round`, as far as the agent got with it; empty: none.
  std::string prepared_digest;
  std::string committed_digest;
  std::string workload;
  bool simulated = false;
};
BOOST_DESCRIBE_STRUCT(AgentHello, (),
                      (run_id, round, agent, incarnation, boot_id, node_rank, devices, launcher,
                       config, config_digest, versions, prepared_digest, committed_digest, workload,
                       simulated))

struct Report {
  std::string run_id;
  int64_t round = 0;
  std::vector<DeviceOutcome> devices;
  // Held back for communicators while these batches were confirmed; absent: not known.
  std::optional<int64_t> communicator_bytes;
  // One line about the node, for people.
  std::string summary;
};
BOOST_DESCRIBE_STRUCT(Report, (), (run_id, round, devices, communicator_bytes, summary))

// Only its counter counts: it is progress when it is higher than the last.
struct Heartbeat {
  std::string run_id;
  int64_t round = 0;
  int64_t sequence = 0;
};
BOOST_DESCRIBE_STRUCT(Heartbeat, (), (run_id, round, sequence))

// The root of a reduction has made its id.
struct ReduceId {
  std::string run_id;
  int64_t round = 0;
  int64_t attempt = 0;
  // Hexadecimal.
  std::string unique_id;
};
BOOST_DESCRIBE_STRUCT(ReduceId, (), (run_id, round, attempt, unique_id))

// Either the minimum over all ranks, or why there is none.
struct ReduceResult {
  std::string run_id;
  int64_t round = 0;
  int64_t attempt = 0;
  std::optional<int64_t> minimum;
  std::string failure;
  // Bytes that the communicator took on the worst device of this agent.
  std::optional<int64_t> communicator_bytes;
};
BOOST_DESCRIBE_STRUCT(ReduceResult, (),
                      (run_id, round, attempt, minimum, failure, communicator_bytes))

// The record is on the agent's disk; nothing starts on it yet.
struct Prepared {
  std::string run_id;
  int64_t round = 0;
  std::string digest;
};
BOOST_DESCRIBE_STRUCT(Prepared, (), (run_id, round, digest))

// The agent has seen the commit and may start on the record.
struct Committed {
  std::string run_id;
  int64_t round = 0;
  std::string digest;
};
BOOST_DESCRIBE_STRUCT(Committed, (), (run_id, round, digest))

struct Leave {
  std::string run_id;
  int64_t round = 0;
  std::string reason;
  // The agent's job is done: not a loss that the others have to answer with a new round.
  bool done = false;
};
BOOST_DESCRIBE_STRUCT(Leave, (), (run_id, round, reason, done))

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_AGENT_MESSAGES_H_
