// NCCL: communicators. What is done with them is in nccl_calls.cc.

#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "autobatch/simcuda/nccl_communicator.h"
#include "autobatch/simcuda/nccl_group.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

constexpr int kDefaultVersion = 22809;

using Seat = Communicator::Seat;

thread_local std::string last_error;

ncclResult_t Invalid(const std::string& why) {
  last_error = why;
  std::fprintf(stderr, "simcuda: NCCL: %s\n", why.c_str());
  return ncclInvalidArgument;
}

ncclResult_t NotSimulated(const char* what) {
  Invalid(std::string(what) + " is not simulated");
  return ncclInvalidUsage;
}

Communicator* Of(ncclComm_t handle) { return reinterpret_cast<Communicator*>(handle); }

bool IsBlocking(const ncclConfig_t* config) { return config == nullptr || config->blocking != 0; }

BoardAddress AddressOf(const ncclUniqueId& id) {
  BoardAddress address;
  std::memcpy(&address, id.internal, sizeof(address));
  return address;
}

ncclResult_t Start(ncclComm_t* handle, const Seat& seat, bool blocking) {
  if (handle == nullptr) return Invalid("no place for the communicator");
  if (seat.ranks < 1 || seat.ranks > Board::kMostRanks || seat.rank < 0 ||
      seat.rank >= seat.ranks) {
    return Invalid("rank " + std::to_string(seat.rank) + " of " + std::to_string(seat.ranks));
  }
  cudaError_t error;
  if (Enter(error) == nullptr) return ncclUnhandledCudaError;
  auto* const made = new Communicator([seat] { return seat; }, blocking);
  *handle = reinterpret_cast<ncclComm_t>(made);
  return WaitInGroup(*made);
}

// What the ranks tell each other when they part.
struct SplitWish {
  int color;
  int key;
  BoardAddress address;
};

// Where a rank will be, once all have said what they wish.
struct SplitResult {
  Completion known;
  std::optional<Seat> seat;
};

std::optional<Seat> SeatAfterSplit(const std::vector<Board::Turn>& turns, int rank) {
  std::vector<std::pair<SplitWish, int>> wishes;
  for (size_t i = 0; i < turns.size(); ++i) {
    SplitWish wish;
    std::memcpy(&wish, turns[i].bytes.data(), sizeof(wish));
    wishes.emplace_back(wish, static_cast<int>(i));
  }
  const int color = wishes[static_cast<size_t>(rank)].first.color;
  std::erase_if(wishes, [color](const auto& wish) { return wish.first.color != color; });
  std::sort(wishes.begin(), wishes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.key, a.second) < std::tie(b.first.key, b.second);
  });
  Seat seat = {.address = wishes.front().first.address, .ranks = static_cast<int>(wishes.size())};
  while (wishes[static_cast<size_t>(seat.rank)].second != rank) ++seat.rank;
  return seat;
}

}  // namespace

#define NCCL SIMCUDA_EXPORT ncclResult_t

NCCL ncclGetVersion(int* version) {
  *version = NcclVersion() == 0 ? kDefaultVersion : NcclVersion();
  return ncclSuccess;
}

NCCL ncclGetUniqueId(ncclUniqueId* id) {
  const std::optional<BoardAddress> address = Board::Make();
  if (!address) return ncclSystemError;
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id->internal, &*address, sizeof(*address));
  return ncclSuccess;
}

NCCL ncclCommInitRankConfig(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank,
                            ncclConfig_t* config) {
  return Start(handle, {.address = AddressOf(id), .ranks = ranks, .rank = rank},
               IsBlocking(config));
}

NCCL ncclCommInitRank(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(handle, ranks, id, rank, nullptr);
}

NCCL ncclCommInitRankScalable(ncclComm_t* handle, int ranks, int rank, int, ncclUniqueId* ids,
                              ncclConfig_t* config) {
  return ncclCommInitRankConfig(handle, ranks, *ids, rank, config);
}

NCCL ncclCommInitAll(ncclComm_t* handles, int count, const int* devices) {
  ncclUniqueId id;
  ncclResult_t result = ncclGetUniqueId(&id);
  const int device = CurrentOrdinal();
  StartGroup();
  for (int i = 0; i < count && result == ncclSuccess; ++i) {
    SetCurrentOrdinal(devices == nullptr ? i : devices[i]);
    result = ncclCommInitRank(&handles[i], count, id, i);
  }
  SetCurrentOrdinal(device);
  const ncclResult_t end = EndGroup();
  return result == ncclSuccess ? end : result;
}

NCCL ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* handle,
                   ncclConfig_t* config) {
  if (parent == nullptr || handle == nullptr) return Invalid("no communicator to split");
  Communicator& from = *Of(parent);
  if (from.state() != ncclSuccess) return from.state();
  const std::optional<BoardAddress> address = Board::Make();
  if (!address) return ncclSystemError;
  const auto result = std::make_shared<SplitResult>();
  const Pending told = from.Enqueue(
      [&from, color, key, address, result](Board& board) {
        const SplitWish wish = {.color = color, .key = key, .address = *address};
        const std::span<const char> bytes(reinterpret_cast<const char*>(&wish), sizeof(wish));
        return board.Exchange({.label = {}, .bytes = bytes},
                              [&](const std::vector<Board::Turn>& turns) {
                                result->seat = SeatAfterSplit(turns, from.rank());
                              });
      },
      nullptr);
  const auto find_seat = [told, result, address]() -> std::optional<Seat> {
    if (told != nullptr) told->Wait();
    // Each brought a board, and the first of the new ranks' is used.
    if (!result->seat || result->seat->rank != 0) Board::Forget(*address);
    return result->seat;
  };
  if (color == NCCL_SPLIT_NOCOLOR) {
    *handle = nullptr;
    // The others need to hear it, even if this process ends next.
    if (told != nullptr) told->Wait();
    Board::Forget(*address);
    return ncclSuccess;
  }
  auto* const made = new Communicator(find_seat, config == nullptr || config->blocking == INT_MIN
                                                     ? from.blocking()
                                                     : config->blocking != 0);
  *handle = reinterpret_cast<ncclComm_t>(made);
  return WaitInGroup(*made);
}

NCCL ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int) {
  return NotSimulated("ncclCommShrink");
}

NCCL ncclCommDestroy(ncclComm_t handle) {
  delete Of(handle);
  return ncclSuccess;
}

NCCL ncclCommAbort(ncclComm_t handle) {
  if (handle == nullptr) return ncclSuccess;
  if (Node::Get().faults().nccl_abort_hangs) {
    std::fprintf(stderr, "simcuda: NCCL: aborting hangs\n");
    while (true) pause();
  }
  Of(handle)->Abort();
  return ncclCommDestroy(handle);
}

NCCL ncclCommFinalize(ncclComm_t handle) {
  if (handle == nullptr) return Invalid("no communicator");
  // Destroying one waits for its work in any case.
  return Of(handle)->blocking() ? Of(handle)->WaitUntilIdle() : Of(handle)->state();
}

NCCL ncclCommCount(const ncclComm_t handle, int* count) {
  if (handle == nullptr || Of(handle)->state() == ncclInProgress) return Invalid("no ranks yet");
  *count = Of(handle)->ranks();
  return ncclSuccess;
}

NCCL ncclCommUserRank(const ncclComm_t handle, int* rank) {
  if (handle == nullptr || Of(handle)->state() == ncclInProgress) return Invalid("no rank yet");
  *rank = Of(handle)->rank();
  return ncclSuccess;
}

NCCL ncclCommCuDevice(const ncclComm_t handle, int* device) {
  if (handle == nullptr) return Invalid("no communicator");
  *device = Of(handle)->device();
  return ncclSuccess;
}

NCCL ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* result) {
  if (handle == nullptr || result == nullptr) return Invalid("no communicator");
  *result = Broken() == cudaSuccess ? Of(handle)->state() : ncclUnhandledCudaError;
  return ncclSuccess;
}

NCCL ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = nullptr;
  return ncclSuccess;
}

NCCL ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }

NCCL ncclCommWindowRegister(ncclComm_t, void*, size_t, ncclWindow_t*, int) {
  return NotSimulated("ncclCommWindowRegister");
}

NCCL ncclGroupStart() {
  StartGroup();
  return ncclSuccess;
}

NCCL ncclGroupEnd() { return EndGroup(); }

NCCL ncclGroupSimulateEnd(ncclSimInfo_t*) { return NotSimulated("ncclGroupSimulateEnd"); }

NCCL ncclMemAlloc(void** address, size_t bytes) {
  return cudaMalloc(address, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

NCCL ncclMemFree(void* address) {
  return cudaFree(address) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

SIMCUDA_EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

SIMCUDA_EXPORT const char* ncclGetLastError(ncclComm_t handle) {
  if (handle != nullptr) {
    if (std::string error = Of(handle)->last_error(); !error.empty()) last_error = std::move(error);
  }
  return last_error.c_str();
}
