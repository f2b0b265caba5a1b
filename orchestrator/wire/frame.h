#ifndef ORCHESTRATOR_WIRE_FRAME_H_
#define ORCHESTRATOR_WIRE_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// A frame is a header of 16 bytes in network order and a payload that means something to the
// room of messages only:
//
//     magic u32 | protocol version u16 | type u16 | payload length u32 | reserved u32 = 0 | payload
//
// The header is the same in every protocol version, so that a peer of another version can still be
// read far enough to be refused by name.
inline constexpr uint32_t kFrameMagic = 0xAB414246;  // 0xAB "ABF": the first byte is no ASCII
inline constexpr size_t kFrameHeaderSize = 16;
inline constexpr uint16_t kWireVersion = 1;

// Largest payload in bytes: of a member, whose record may name thousands of devices, and of a peer
// whose hello was not yet accepted.
inline constexpr uint32_t kMemberPayloadLimit = uint32_t{4} << 20;
inline constexpr uint32_t kStrangerPayloadLimit = uint32_t{64} << 10;

struct Frame {
  uint16_t type = 0;
  std::string payload;
  // What the sender speaks. The decoder takes any; DecodeMessage() refuses a foreign one.
  uint16_t version = kWireVersion;

  bool operator==(const Frame&) const = default;
};

// The bytes of a frame. ResourceExhausted if the payload is larger than a member may send.
absl::StatusOr<std::string> EncodeFrame(const Frame& frame);

// Frames out of a stream of bytes that arrives in arbitrary pieces. Not thread-safe.
//
//     for (absl::string_view rest = arrived; !rest.empty();) {
//       AB_ASSIGN_OR_RETURN(std::optional<Frame> frame, decoder.Next(rest));
//       if (frame) Handle(*frame);
//     }
//
// A header is judged before anything is kept for its payload, and memory follows the bytes that
// have come, not the length that was claimed. After an error the stream has no meaning any more:
// every later call gives the same error.
class FrameDecoder {
 public:
  explicit FrameDecoder(uint32_t payload_limit = kStrangerPayloadLimit) : limit_(payload_limit) {}

  // For headers from now on: a peer became a member.
  void set_payload_limit(uint32_t bytes) { limit_ = bytes; }

  // Takes bytes off the front of `bytes`, up to the end of one frame. Nothing: all were taken, and
  // the frame is not complete. InvalidArgument: this is not our protocol (the text says what it
  // looks like); ResourceExhausted: the payload is over the limit.
  absl::StatusOr<std::optional<Frame>> Next(absl::string_view& bytes);

  // Between two frames: a stream that ends elsewhere was cut short.
  bool AtBoundary() const { return header_size_ == 0; }

 private:
  absl::Status JudgeHeader();

  uint32_t limit_;
  // The header so far, and the frame that it announced once it is whole.
  char header_[kFrameHeaderSize] = {};
  size_t header_size_ = 0;
  uint32_t payload_size_ = 0;
  Frame frame_;
  absl::Status failure_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_FRAME_H_
