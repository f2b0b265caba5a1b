#ifndef AUTOBATCH_TYPES_PROTOCOL_H_
#define AUTOBATCH_TYPES_PROTOCOL_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/workload.h"

// The trial protocol between a parent and the process that runs the steps: one JSON object a line
// on two inherited descriptors whose numbers are in the environment. stdout and stderr stay the
// child's own.
//
//   parent -> child   {"type":"setup", ...}  once; then {"type":"trial", ...} each; end of file:
//   quit child -> parent   {"type":"hello", ...}  once after setup (model built, context exists);
//                     then for each trial {"type":"phase", ...}, {"type":"step", ...} and one
//                     {"type":"result", ...}
//
// Several processes of one command (the ranks of a data-parallel run) may speak on the same
// descriptors. Each says hello and gives its own steps and result; its lines name its rank, and are
// written whole (one write of PIPE_BUF bytes at most). None of them reads the requests away from
// the others: they look at the pipe with tee(2).
namespace autobatch {

inline constexpr int64_t kProtocolVersion = 1;
inline constexpr char kRequestFdVariable[] = "AUTOBATCH_REQUEST_FD";
inline constexpr char kReportFdVariable[] = "AUTOBATCH_REPORT_FD";
// A longer line is a protocol failure, never an allocation.
inline constexpr int64_t kMaxProtocolLine = int64_t{4} << 20;

enum class RequestType { kSetup, kTrial };
BOOST_DESCRIBE_ENUM(RequestType, kSetup, kTrial)

// What one device of a trial may be used for. The limits are those of TrialSpec.
struct DeviceLimit {
  std::string uuid;
  std::optional<int64_t> limit_bytes;
  int64_t reserve_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(DeviceLimit, (), (uuid, limit_bytes, reserve_bytes))

struct Request {
  RequestType type = RequestType::kTrial;
  // setup
  int64_t protocol = kProtocolVersion;
  DeviceKind device = DeviceKind::kCpu;
  std::optional<WorkloadSpec> workload;
  // trial
  std::optional<TrialSpec> trial;
  // Of a trial on several devices, each with its own limits, in the order in which they are
  // visible; those in `trial` are then the strictest. Empty: there is one.
  std::vector<DeviceLimit> devices;
};
BOOST_DESCRIBE_STRUCT(Request, (), (type, protocol, device, workload, trial, devices))

enum class ReplyType { kHello, kPhase, kStep, kResult };
BOOST_DESCRIBE_ENUM(ReplyType, kHello, kPhase, kStep, kResult)

struct Hello {
  int64_t protocol = kProtocolVersion;
  int64_t pid = 0;
  // What it trains on; absent: it cannot tell, or does not know yet.
  std::optional<std::string> device_uuid;
  // The same as its number among the devices that it sees.
  std::optional<int64_t> device_index;
  std::optional<int64_t> parameters;
};
BOOST_DESCRIBE_STRUCT(Hello, (), (protocol, pid, device_uuid, device_index, parameters))

struct Reply {
  ReplyType type = ReplyType::kHello;
  // Who speaks, and of how many; absent where there is one process.
  std::optional<int64_t> rank;
  std::optional<int64_t> world_size;
  std::optional<Hello> hello;
  // Entered now: so that a child that dies is known to have died there.
  std::optional<TrialPhase> phase;
  std::optional<StepObservation> step;
  // Whole; `steps` included.
  std::optional<Observation> result;
};
BOOST_DESCRIBE_STRUCT(Reply, (), (type, rank, world_size, hello, phase, step, result))

// What `worker --describe` prints as one line: the libraries, and the devices as the CUDA driver
// enumerates them for this process (its verdict on CUDA_VISIBLE_DEVICES).
struct WorkerDescription {
  std::string libtorch_version;
  std::optional<std::string> cuda_version;
  std::optional<std::string> cudnn_version;
  std::optional<std::string> nccl_version;
  // uuid, name, pci_bus_id, compute_capability, integrated, total and free, in visible order.
  std::vector<Device> devices;
  // Why there are none.
  std::string cuda_error;
};
BOOST_DESCRIBE_STRUCT(WorkerDescription, (),
                      (libtorch_version, cuda_version, cudnn_version, nccl_version, devices,
                       cuda_error))

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_PROTOCOL_H_
