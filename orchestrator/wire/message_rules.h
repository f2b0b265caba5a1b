#ifndef ORCHESTRATOR_WIRE_MESSAGE_RULES_H_
#define ORCHESTRATOR_WIRE_MESSAGE_RULES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/agent_messages.h"
#include "orchestrator/wire/coordinator_messages.h"

// What is a valid value in a message: the one place where numbers, texts and lists that come from a
// peer are bounded. What follows from several messages (a name that is taken, a stale round) is not
// a matter of values; core decides it.
namespace autobatch {

// Bytes of a name: run ids, agents, incarnations, UUIDs, digests, settings' names. Letters, digits
// and -_.:/@+#=%[] only, so that they can stand in any line for people.
inline constexpr size_t kMaxName = 128;
// Bytes of a text for people (failures, reasons, settings' values): one line of UTF-8 without
// control characters other than tabs, lest a peer writes lines into our log that look like our own.
// MakePlain() makes any text so.
inline constexpr size_t kMaxText = 4096;
// Bytes of a unique id in hexadecimal: NCCL's has 128 bytes; room for four times as many.
inline constexpr size_t kMaxUniqueId = 1024;
inline constexpr size_t kMaxRecord = size_t{3} << 20;

inline constexpr size_t kMaxDevices = 256;   // of one agent; the largest hosts have 16
inline constexpr size_t kMaxProcesses = 64;  // that are named as holding memory of one device
inline constexpr size_t kMaxSettings = 128;
inline constexpr size_t kMaxNames = 4096;  // in a list of who is missing

// Samples of one micro-batch. On kMaxWorld ranks it makes 2^44 samples: no product overflows.
inline constexpr int64_t kMaxMicroBatch = int64_t{1} << 24;
inline constexpr int64_t kMaxWorld = int64_t{1} << 20;
inline constexpr int64_t kMaxBytes = int64_t{1} << 50;
inline constexpr int64_t kMaxRound = int64_t{1} << 53;  // what any JSON reader keeps exactly

// InvalidArgument names the field, what was found, and what is allowed.
absl::Status Validate(const AgentHello& hello);
absl::Status Validate(const Report& report);
absl::Status Validate(const Heartbeat& heartbeat);
absl::Status Validate(const ReduceId& id);
absl::Status Validate(const ReduceResult& result);
absl::Status Validate(const Prepared& prepared);
absl::Status Validate(const Committed& committed);
absl::Status Validate(const Leave& leave);
absl::Status Validate(const Welcome& welcome);
absl::Status Validate(const Progress& progress);
absl::Status Validate(const Collect& collect);
absl::Status Validate(const Reduce& reduce);
absl::Status Validate(const Grants& grants);
absl::Status Validate(const Prepare& prepare);
absl::Status Validate(const Commit& commit);
absl::Status Validate(const Abort& abort);
absl::Status Validate(const Refuse& refuse);
absl::Status Validate(const HeartbeatAck& ack);

// The text, at most kMaxText bytes of it, cut between characters; a blank for a line feed and '?'
// for what else may not be in a text.
std::string PlainText(absl::string_view text);

// Makes every text for people in a message plain. Names and numbers are left as they are.
void MakePlain(AgentHello& hello);
void MakePlain(Report& report);
void MakePlain(ReduceResult& result);
void MakePlain(Leave& leave);
void MakePlain(Progress& progress);
void MakePlain(Abort& abort);
void MakePlain(Refuse& refuse);
// The others have none.
template <typename T>
void MakePlain(T&) {}

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_MESSAGE_RULES_H_
