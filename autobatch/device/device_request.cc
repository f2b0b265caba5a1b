#include "autobatch/device/device_request.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

absl::StatusOr<std::vector<int64_t>> ParseIndices(absl::string_view text) {
  std::vector<int64_t> indices;
  for (absl::string_view entry : absl::StrSplit(text, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    int64_t index = -1;
    const bool digits = !entry.empty() && std::all_of(entry.begin(), entry.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
    if (!digits || !absl::SimpleAtoi(entry, &index)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--device=cuda:", text, ": '", entry,
          "' is no index of a visible device; right would be cuda, cuda:0 or cuda:0,2"));
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device=cuda:", text, " names device ", index, " twice"));
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace

absl::StatusOr<DeviceRequest> ParseDeviceRequest(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  DeviceRequest request;
  if (text.empty()) return request;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool has_list = parts.size() == 2;
  if (parts[0] == "cuda") {
    request.kind = DeviceRequest::Kind::kCuda;
    if (has_list) {
      AB_ASSIGN_OR_RETURN(request.indices, ParseIndices(parts[1]));
    }
    return request;
  }
  if (parts[0] == "cpu") {
    if (has_list) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device=", text, ": the CPU is one device; right would be cpu"));
    }
    request.kind = DeviceRequest::Kind::kCpu;
    return request;
  }
  if (parts[0] == "sim") {
    if (!has_list || parts[1].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--device=", text, " names no simulated card; right would be sim:rtx3090,a100-80"));
    }
    request.kind = DeviceRequest::Kind::kCuda;
    request.simulated = std::string(parts[1]);
    return request;
  }
  const std::vector<std::string> kinds = {"cuda", "cpu", "sim"};
  // "0", "cuda,cpu": what is meant is clear enough to show how it is written.
  if (absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device=", text, " names no kind of device; right would be cuda:", text));
  }
  if (std::any_of(text.begin(), text.end(), [](char c) { return c == ','; }) && !has_list) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device=", text, ": one list holds devices of one kind; right would be cuda:0,2 or cpu"));
  }
  // Not one letter from "cpu", as the nearest name would have it.
  if (absl::EqualsIgnoreCase(parts[0], "gpu")) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown device '", text, "'; did you mean 'cuda", text.substr(3), "'?"));
  }
  return UnknownName("device", parts[0], kinds);
}

}  // namespace autobatch
