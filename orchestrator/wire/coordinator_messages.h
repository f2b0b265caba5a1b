#ifndef ORCHESTRATOR_WIRE_COORDINATOR_MESSAGES_H_
#define ORCHESTRATOR_WIRE_COORDINATOR_MESSAGES_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/plan/plan.h"

// What the coordinator says to an agent. See messages.h.
namespace autobatch {

// The agent is a member. Its round is the one that runs or stands.
struct Welcome {
  std::string run_id;
  int64_t round = 0;
  int64_t heartbeat_ms = 1000;
  // Heartbeats without progress after which the other side is lost.
  int64_t lost_after = 5;
  // How long after sending a hello or heartbeat that was answered the agent may let training start
  // on a committed record: no newer one is committed without it before that.
  int64_t lease_ms = 2000;
  // Of the two digests in the hello, the one whose record stands, with this agent as its member.
  // Empty: neither; what the agent has is of a world that is gone.
  std::string standing_digest;
};
BOOST_DESCRIBE_STRUCT(Welcome, (),
                      (run_id, round, heartbeat_ms, lost_after, lease_ms, standing_digest))

// What is waited for.
struct Progress {
  std::string run_id;
  int64_t round = 0;
  int64_t have = 0;
  int64_t need = 0;
  std::vector<std::string> missing;
  std::string text;
};
BOOST_DESCRIBE_STRUCT(Progress, (), (run_id, round, have, need, missing, text))

// A round has begun: report.
struct Collect {
  std::string run_id;
  int64_t round = 0;
  // Hold back at least so much for communicators: it was measured. Absent: as the agent thinks.
  std::optional<int64_t> communicator_bytes;
};
BOOST_DESCRIBE_STRUCT(Collect, (), (run_id, round, communicator_bytes))

// Take part in a reduction of everybody's smallest batch. An empty id: make one and tell it,
// another Reduce of the same attempt follows. An attempt ends with a result, a higher attempt, a
// Prepare or an Abort.
struct Reduce {
  std::string run_id;
  int64_t round = 0;
  int64_t attempt = 0;
  std::string unique_id;
  // The agent's devices that can train are the ranks from here on, of so many in all.
  int64_t rank_base = 0;
  int64_t world = 0;
};
BOOST_DESCRIBE_STRUCT(Reduce, (), (run_id, round, attempt, unique_id, rank_base, world))

// What the receiver's devices may load, where that is not the same for all; comes before its
// Prepare, which is.
struct Grants {
  std::string run_id;
  int64_t round = 0;
  std::vector<DeviceShare> devices;
};
BOOST_DESCRIBE_STRUCT(Grants, (), (run_id, round, devices))

struct Prepare {
  std::string run_id;
  int64_t round = 0;
  std::string digest;
  // The record's JSON, byte for byte what the digest is over.
  std::string record;
};
BOOST_DESCRIBE_STRUCT(Prepare, (), (run_id, round, digest, record))

struct Commit {
  std::string run_id;
  int64_t round = 0;
  std::string digest;
};
BOOST_DESCRIBE_STRUCT(Commit, (), (run_id, round, digest))

// The round has ended without a record; a prepared one is void.
struct Abort {
  std::string run_id;
  int64_t round = 0;
  std::string reason;
  std::vector<std::string> missing;
  // The run is over: leave with this exit code. Otherwise a next round follows.
  bool over = false;
  int64_t exit_code = 0;
};
BOOST_DESCRIBE_STRUCT(Abort, (), (run_id, round, reason, missing, over, exit_code))

enum class RefuseCode {
  kStaleRound,         // Of an earlier round, or of an incarnation that was given up.
  kRunId,              // Of another run.
  kDuplicateAgent,     // The name is taken.
  kDuplicateNodeRank,  // The node rank is taken.
  kDuplicateDevice,    // Another agent has this device.
  kConfig,             // Settings differ from the run's.
  kVersion,            // Protocol or program of a version that does not fit.
  kContradiction,      // The launcher's facts and the devices do not fit.
  kFull,               // The table of members is full.
  kClosing,            // The run is over, or the coordinator leaves.
  kUnexpected,         // A valid message at a time or from a side where it makes no sense.
  kInvalid,            // A message that breaks the rules of its values.
};
BOOST_DESCRIBE_ENUM(RefuseCode, kStaleRound, kRunId, kDuplicateAgent, kDuplicateNodeRank,
                    kDuplicateDevice, kConfig, kVersion, kContradiction, kFull, kClosing,
                    kUnexpected, kInvalid)

struct Refuse {
  std::string run_id;
  int64_t round = 0;
  RefuseCode code = RefuseCode::kInvalid;
  std::string reason;
  // The sender closes the connection; otherwise only one message was refused.
  bool closing = false;
};
BOOST_DESCRIBE_STRUCT(Refuse, (), (run_id, round, code, reason, closing))

struct HeartbeatAck {
  std::string run_id;
  int64_t round = 0;
  int64_t sequence = 0;
};
BOOST_DESCRIBE_STRUCT(HeartbeatAck, (), (run_id, round, sequence))

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_COORDINATOR_MESSAGES_H_
