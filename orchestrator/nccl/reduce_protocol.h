#ifndef AUTOBATCH_NCCL_REDUCE_PROTOCOL_H_
#define AUTOBATCH_NCCL_REDUCE_PROTOCOL_H_

#include <boost/describe.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "orchestrator/nccl/reduce_answer.h"
#include "orchestrator/nccl/reduce_request.h"

// Between a parent and the reduce program: one JSON object a line, on the two descriptors that
// types/protocol.h names.
//
//   parent -> child   one ReduceCommand; end of file: give up, or the id is no longer needed
//   child -> parent   {"type":"phase", ...} as they begin, and one
//                     {"type":"unique_id" | "answer" | "failure", ...}
namespace autobatch {

// Enough for the devices of any node; a longer line is a failure of the child, never an allocation.
inline constexpr size_t kMostReduceLine = size_t{1} << 20;

enum class ReduceTask { kUniqueId, kReduce };
BOOST_DESCRIBE_ENUM(ReduceTask, kUniqueId, kReduce)

struct ReduceCommand {
  ReduceTask task = ReduceTask::kUniqueId;
  // libnccl.so.2 by path; empty: searched.
  std::string nccl_library;
  // For kReduce; its clock starts when the child reads this.
  std::optional<ReduceRequest> request;
  double timeout_ms = 0;
};
BOOST_DESCRIBE_STRUCT(ReduceCommand, (), (task, nccl_library, request, timeout_ms))

// Where a reduction is, for the words of whoever waits in vain.
enum class ReducePhase { kDevices, kInit, kReduce, kMeasure };
BOOST_DESCRIBE_ENUM(ReducePhase, kDevices, kInit, kReduce, kMeasure)

// "making contexts on the devices", "the ranks to join", ...
absl::string_view PhaseWords(ReducePhase phase);

// Of absl's status codes those that the child uses.
enum class ReduceFailureKind {
  kInternal,
  kNoNccl,
  kTimeout,
  kNccl,
  kNoMemory,
  kCancelled,
  kRequest
};
BOOST_DESCRIBE_ENUM(ReduceFailureKind, kInternal, kNoNccl, kTimeout, kNccl, kNoMemory, kCancelled,
                    kRequest)

struct ReduceFailure {
  ReduceFailureKind kind = ReduceFailureKind::kInternal;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(ReduceFailure, (), (kind, message))

// There and back; any other code is kInternal.
ReduceFailure ToFailure(const absl::Status& status);
absl::Status ToStatus(const ReduceFailure& failure);

enum class ReduceReplyType { kPhase, kUniqueId, kAnswer, kFailure };
BOOST_DESCRIBE_ENUM(ReduceReplyType, kPhase, kUniqueId, kAnswer, kFailure)

struct ReduceReply {
  ReduceReplyType type = ReduceReplyType::kFailure;
  std::optional<ReducePhase> phase;
  std::optional<std::string> unique_id;
  std::optional<ReduceAnswer> answer;
  std::optional<ReduceFailure> failure;
};
BOOST_DESCRIBE_STRUCT(ReduceReply, (), (type, phase, unique_id, answer, failure))

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCE_PROTOCOL_H_
