#include "orchestrator/nccl/local_ranks.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// "GPU-12ab-..." as the driver's 32 digits.
std::string HexOfUuid(absl::string_view uuid) {
  for (const absl::string_view prefix : {"GPU-", "MIG-"}) absl::ConsumePrefix(&uuid, prefix);
  return absl::AsciiStrToLower(absl::StrReplaceAll(uuid, {{"-", ""}}));
}

bool IsMig(absl::string_view uuid) { return absl::StartsWith(uuid, "MIG-"); }

}  // namespace

absl::Status LocalRanks::NcclError(absl::string_view what, NcclResult result, NcclHandle handle) {
  const std::string text = absl::StrCat(what, ": ", tools_.nccl.Describe(result, handle));
  // NCCL has one code for all errors of CUDA.
  return result == kNcclUnhandledCudaError && absl::StrContains(text, "out of memory")
             ? absl::ResourceExhaustedError(text)
             : absl::AbortedError(text);
}

absl::Status LocalRanks::CudaError(absl::string_view what, const Rank& rank, DriverResult result) {
  const std::string text =
      absl::StrCat(what, " on device ", rank.uuid, ": ",
                   result == kDriverNotFound ? "the NVIDIA driver lacks the function"
                                             : tools_.driver.Describe(result));
  return result == kDriverOutOfMemory ? absl::ResourceExhaustedError(text)
                                      : absl::AbortedError(text);
}

absl::Status LocalRanks::EnterFor(const Rank& rank) {
  const DriverResult entered = tools_.cuda.ContextSetCurrent(rank.context);
  return entered == kDriverSuccess ? absl::OkStatus()
                                   : CudaError("entering the context", rank, entered);
}

absl::StatusOr<DriverDevice> LocalRanks::FindDevice(const std::string& uuid) {
  int count = 0;
  tools_.driver.DeviceGetCount(&count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DriverDevice device = 0;
    DriverUuid bytes = {};
    if (tools_.driver.DeviceGet(&device, ordinal) == kDriverSuccess &&
        tools_.driver.DeviceGetUuidV2(&bytes, device) == kDriverSuccess &&
        HexOfUuid(uuid) ==
            absl::BytesToHexString(absl::string_view(bytes.bytes, sizeof(bytes.bytes)))) {
      return device;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no NCCL: the NVIDIA driver shows no device ", uuid, " but ", count, " others"));
}

absl::Status LocalRanks::OpenDevice(const ReduceDevice& asked, int64_t gradient_bytes, Rank& rank) {
  AB_ASSIGN_OR_RETURN(const DriverDevice device, FindDevice(asked.uuid));
  const auto check = [&](absl::string_view what, DriverResult result) {
    return result == kDriverSuccess ? absl::OkStatus() : CudaError(what, rank, result);
  };
  CudaApi& cuda = tools_.cuda;
  AB_RETURN_IF_ERROR(check("making a context", cuda.PrimaryContextRetain(&rank.context, device)));
  AB_RETURN_IF_ERROR(EnterFor(rank));
  AB_RETURN_IF_ERROR(check("making a stream", cuda.StreamCreate(&rank.stream)));
  AB_RETURN_IF_ERROR(
      check("allocating the number", cuda.MemAlloc(&rank.number, sizeof(asked.value))));
  AB_RETURN_IF_ERROR(check("copying the number",
                           cuda.CopyToDevice(rank.number, &asked.value, sizeof(asked.value))));
  if (gradient_bytes > 0) {
    AB_RETURN_IF_ERROR(check("allocating gradients",
                             cuda.MemAlloc(&rank.gradients, static_cast<size_t>(gradient_bytes))));
  }
  size_t total = 0;
  if (cuda.MemGetInfo(&rank.free_before, &total) != kDriverSuccess) rank.free_before = 0;
  return absl::OkStatus();
}

absl::Status LocalRanks::OpenDevices(const ReduceRequest& request) {
  if (request.devices.size() > 1 &&
      std::any_of(request.devices.begin(), request.devices.end(),
                  [](const ReduceDevice& device) { return IsMig(device.uuid); })) {
    return absl::FailedPreconditionError(
        "no NCCL: a process sees one MIG instance only, and NCCL refuses two of one GPU");
  }
  if (const DriverResult result = tools_.driver.Init(); result != kDriverSuccess) {
    return absl::FailedPreconditionError(absl::StrCat("no NCCL: ", tools_.driver.Describe(result)));
  }
  int64_t number = request.rank_base;
  for (const ReduceDevice& device : request.devices) {
    Rank& rank = ranks_.emplace_back(Rank{.rank = number++, .uuid = device.uuid});
    AB_RETURN_IF_ERROR(OpenDevice(device, request.gradient_bytes, rank));
  }
  return absl::OkStatus();
}

absl::Status LocalRanks::ForEachInGroup(absl::string_view what,
                                        absl::FunctionRef<NcclResult(Rank&)> call) {
  const auto failed = [](NcclResult result) {
    return result != kNcclSuccess && result != kNcclInProgress;
  };
  if (const NcclResult result = tools_.nccl.GroupStart(); failed(result)) {
    return NcclError(what, result, nullptr);
  }
  absl::Status first;
  for (Rank& rank : ranks_) {
    first = EnterFor(rank);
    if (!first.ok()) break;
    if (const NcclResult result = call(rank); failed(result)) {
      first = NcclError(absl::StrCat(what, " of rank ", rank.rank), result, rank.handle);
      break;
    }
  }
  // Always, so that what has begun can be aborted.
  const NcclResult ended = tools_.nccl.GroupEnd();
  if (first.ok() && failed(ended)) first = NcclError(what, ended, nullptr);
  return first;
}

absl::StatusOr<bool> LocalRanks::IsIdle(Rank& rank, absl::string_view what) {
  NcclResult state = kNcclInProgress;
  const NcclResult asked = tools_.nccl.CommGetAsyncError(rank.handle, &state);
  if (asked != kNcclSuccess && asked != kNcclInProgress) state = asked;
  if (state == kNcclSuccess || state == kNcclInProgress) return state == kNcclSuccess;
  return NcclError(absl::StrCat("rank ", rank.rank, " waiting ", what), state, rank.handle);
}

absl::Status LocalRanks::WaitForAll(ReducePhase phase, SteadyTime deadline,
                                    absl::FunctionRef<absl::StatusOr<bool>(Rank&)> ready) {
  while (true) {
    std::vector<int64_t> waiting;
    for (Rank& rank : ranks_) {
      AB_ASSIGN_OR_RETURN(bool done, IsIdle(rank, PhaseWords(phase)));
      if (done) {
        AB_ASSIGN_OR_RETURN(done, ready(rank));
      }
      if (!done) waiting.push_back(rank.rank);
    }
    if (waiting.empty()) return absl::OkStatus();
    if (tools_.clock.Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("NCCL waited too long ", PhaseWords(phase),
                                                      ": rank ", absl::StrJoin(waiting, ", "),
                                                      " of ", world_size_));
    }
    if (tools_.pause()) {
      return absl::CancelledError(absl::StrCat("given up while waiting ", PhaseWords(phase)));
    }
  }
}

absl::Status LocalRanks::Init(const ReduceRequest& request, SteadyTime deadline) {
  AB_ASSIGN_OR_RETURN(const UniqueId id, UniqueIdFromHex(request.unique_id));
  AB_RETURN_IF_ERROR(ForEachInGroup("making the communicator", [&](Rank& rank) {
    return tools_.nccl.CommInitRank(&rank.handle, static_cast<int>(world_size_), id,
                                    static_cast<int>(rank.rank));
  }));
  return WaitForAll(ReducePhase::kInit, deadline, [](Rank&) { return true; });
}

absl::Status LocalRanks::AllReduce(ReducePhase phase, uint64_t Rank::* address, size_t count,
                                   NcclReduction reduction, SteadyTime deadline) {
  tools_.on_phase(phase);
  AB_RETURN_IF_ERROR(ForEachInGroup("the all-reduce", [&](Rank& rank) {
    return tools_.nccl.AllReduce(rank.*address, count, reduction, rank.handle, rank.stream);
  }));
  return WaitForAll(phase, deadline, [&](Rank& rank) -> absl::StatusOr<bool> {
    AB_RETURN_IF_ERROR(EnterFor(rank));
    const DriverResult result = tools_.cuda.StreamQuery(rank.stream);
    if (result == kDriverSuccess || result == kDriverNotReady) return result == kDriverSuccess;
    return CudaError("the all-reduce", rank, result);
  });
}

absl::StatusOr<int64_t> LocalRanks::ReadMinimum() {
  std::optional<int64_t> minimum;
  for (const Rank& rank : ranks_) {
    AB_RETURN_IF_ERROR(EnterFor(rank));
    int64_t got = 0;
    const DriverResult copied = tools_.cuda.CopyToHost(&got, rank.number, sizeof(got));
    if (copied != kDriverSuccess) return CudaError("reading the minimum", rank, copied);
    if (minimum.value_or(got) != got) {
      return absl::AbortedError(absl::StrCat("NCCL gave rank ", ranks_.front().rank,
                                             " the minimum ", *minimum, ", but rank ", rank.rank,
                                             " ", got));
    }
    minimum = got;
  }
  return *minimum;
}

std::vector<ReducedDevice> LocalRanks::Measure() {
  std::vector<ReducedDevice> devices;
  for (const Rank& rank : ranks_) {
    ReducedDevice& device =
        devices.emplace_back(ReducedDevice{.uuid = rank.uuid, .rank = rank.rank});
    size_t free = 0;
    size_t total = 0;
    if (rank.free_before > 0 && EnterFor(rank).ok() &&
        tools_.cuda.MemGetInfo(&free, &total) == kDriverSuccess && free <= rank.free_before) {
      device.communicator_bytes = static_cast<int64_t>(rank.free_before - free);
    }
  }
  return devices;
}

absl::StatusOr<ReduceAnswer> LocalRanks::Reduce(const ReduceRequest& request, SteadyTime deadline) {
  AB_RETURN_IF_ERROR(CheckReduceRequest(request));
  world_size_ = request.world_size;
  tools_.on_phase(ReducePhase::kDevices);
  AB_RETURN_IF_ERROR(OpenDevices(request));

  ReduceAnswer answer;
  const SteadyTime begin = tools_.clock.Now();
  tools_.on_phase(ReducePhase::kInit);
  AB_RETURN_IF_ERROR(Init(request, deadline));
  const SteadyTime joined = tools_.clock.Now();
  AB_RETURN_IF_ERROR(
      AllReduce(ReducePhase::kReduce, &Rank::number, 1, NcclReduction::kMinInt64, deadline));
  AB_ASSIGN_OR_RETURN(answer.minimum, ReadMinimum());
  answer.init_ms = absl::ToDoubleMilliseconds(Between(begin, joined));
  answer.reduce_ms = absl::ToDoubleMilliseconds(Between(joined, tools_.clock.Now()));
  if (request.gradient_bytes > 0) {
    const size_t count = static_cast<size_t>(request.gradient_bytes) / sizeof(float);
    AB_RETURN_IF_ERROR(AllReduce(ReducePhase::kMeasure, &Rank::gradients, count,
                                 NcclReduction::kSumFloat32, deadline));
  }
  answer.devices = Measure();
  return answer;
}

void LocalRanks::Close(SteadyTime deadline) {
  for (Rank& rank : ranks_) {
    const NcclResult begun = tools_.nccl.CommFinalize(rank.handle);
    if (begun != kNcclSuccess && begun != kNcclInProgress) return Abort();
  }
  if (!WaitForAll(ReducePhase::kMeasure, deadline, [](Rank&) { return true; }).ok()) {
    return Abort();
  }
  for (Rank& rank : ranks_) tools_.nccl.CommDestroy(rank.handle);
  ranks_.clear();
}

void LocalRanks::Abort() {
  for (Rank& rank : ranks_) {
    if (rank.handle != nullptr) tools_.nccl.CommAbort(rank.handle);
  }
  ranks_.clear();
}

}  // namespace autobatch
