#include "orchestrator/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/wire/foreign_protocol.h"

namespace autobatch {
namespace {

// The field of `size` bytes at `at`, in network order.
uint32_t ReadField(const char* at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(at[i]);
  }
  return value;
}

void AppendField(std::string& bytes, uint32_t value, size_t size) {
  for (size_t i = size; i-- > 0;) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

}  // namespace

absl::StatusOr<std::string> EncodeFrame(const Frame& frame) {
  if (frame.payload.size() > kMemberPayloadLimit) {
    return absl::ResourceExhaustedError(absl::StrCat("a message of ", frame.payload.size(),
                                                     " bytes; the protocol allows ",
                                                     kMemberPayloadLimit));
  }
  std::string bytes;
  bytes.reserve(kFrameHeaderSize + frame.payload.size());
  AppendField(bytes, kFrameMagic, 4);
  AppendField(bytes, frame.version, 2);
  AppendField(bytes, frame.type, 2);
  AppendField(bytes, static_cast<uint32_t>(frame.payload.size()), 4);
  AppendField(bytes, 0, 4);
  bytes += frame.payload;
  return bytes;
}

absl::Status FrameDecoder::JudgeHeader() {
  if (ReadField(header_, 4) != kFrameMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame without its magic; its first bytes look like ",
                     ForeignProtocol(absl::string_view(header_, kFrameHeaderSize))));
  }
  payload_size_ = ReadField(header_ + 8, 4);
  if (payload_size_ > limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", payload_size_, " bytes; ", limit_, " is the limit here"));
  }
  if (ReadField(header_ + 12, 4) != 0) {
    return absl::InvalidArgumentError("the reserved field of a frame is not zero");
  }
  frame_ = Frame();
  frame_.version = static_cast<uint16_t>(ReadField(header_ + 4, 2));
  frame_.type = static_cast<uint16_t>(ReadField(header_ + 6, 2));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Frame>> FrameDecoder::Next(absl::string_view& bytes) {
  AB_RETURN_IF_ERROR(failure_);
  if (header_size_ < kFrameHeaderSize) {
    const size_t taken = std::min(bytes.size(), kFrameHeaderSize - header_size_);
    std::memcpy(header_ + header_size_, bytes.data(), taken);
    header_size_ += taken;
    bytes.remove_prefix(taken);
    if (header_size_ < kFrameHeaderSize) return std::nullopt;
    failure_ = JudgeHeader();
    AB_RETURN_IF_ERROR(failure_);
  }
  const size_t taken = std::min(bytes.size(), payload_size_ - frame_.payload.size());
  frame_.payload.append(bytes.data(), taken);
  bytes.remove_prefix(taken);
  if (frame_.payload.size() < payload_size_) return std::nullopt;
  header_size_ = 0;
  return std::exchange(frame_, Frame());
}

}  // namespace autobatch
