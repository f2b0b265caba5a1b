#include "orchestrator/nccl/reduce_request.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/nccl/unique_id.h"

namespace autobatch {
namespace {

// A UUID becomes a part of CUDA_VISIBLE_DEVICES: a comma in it would name another device.
bool IsUuid(const std::string& text) {
  constexpr size_t kLongest = 128;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/") ==
             std::string::npos;
}

}  // namespace

absl::Status CheckReduceRequest(const ReduceRequest& request) {
  AB_RETURN_IF_ERROR(UniqueIdFromHex(request.unique_id).status());
  if (request.world_size < 1 || request.world_size > kMostReduceRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("a world of ", request.world_size, " ranks; 1 to ", kMostReduceRanks));
  }
  const auto devices = static_cast<int64_t>(request.devices.size());
  if (devices < 1 || devices > kMostReduceDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat(devices, " devices of one node; 1 to ", kMostReduceDevices));
  }
  if (request.rank_base < 0 || request.rank_base > request.world_size - devices) {
    return absl::InvalidArgumentError(absl::StrCat("ranks from ", request.rank_base, ", ", devices,
                                                   " of them, do not fit into a world of ",
                                                   request.world_size));
  }
  constexpr int64_t kMostGradientBytes = int64_t{1} << 30;
  if (request.gradient_bytes < 0 || request.gradient_bytes > kMostGradientBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("gradients of ", request.gradient_bytes, " bytes; 0 to ", kMostGradientBytes));
  }
  std::set<std::string> seen;
  for (const ReduceDevice& device : request.devices) {
    if (!IsUuid(device.uuid)) {
      return absl::InvalidArgumentError("a device's UUID is empty or no UUID");
    }
    if (!seen.insert(device.uuid).second) {
      return absl::InvalidArgumentError(absl::StrCat("device ", device.uuid, " is named twice"));
    }
    if (device.value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("device ", device.uuid, " brings ", device.value));
    }
  }
  return absl::OkStatus();
}

}  // namespace autobatch
