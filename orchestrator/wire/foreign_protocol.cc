#include "orchestrator/wire/foreign_protocol.h"

#include <cstddef>

namespace autobatch {
namespace {

struct Opening {
  // Where in the stream `bytes` stand.
  size_t at;
  absl::string_view bytes;
  absl::string_view name;
};

// Binary magics are written by the host's order, which is little-endian wherever CUDA runs.
constexpr Opening kOpenings[] = {
    {0, absl::string_view("\xAB\x41\x42\x46", 4), "autobatch without TLS"},
    {0, absl::string_view("\x16\x03", 2), "TLS"},
    {0, "GET ", "HTTP"},
    {0, "POST ", "HTTP"},
    {0, "HEAD ", "HTTP"},
    {0, "PUT ", "HTTP"},
    {0, "OPTIONS ", "HTTP"},
    {0, "CONNECT ", "HTTP"},
    {0, "PRI * HTTP/2", "HTTP/2 or gRPC"},
    {0, "SSH-", "SSH"},
    // A query type (VALIDATE), then PyTorch's TCPStore magic 0x3C85F7CE.
    {1, absl::string_view("\xCE\xF7\x85\x3C", 4), "PyTorch's TCPStore"},
    // 0x564ab9f2fc4b9d6c, with which NCCL's sockets open.
    {0, absl::string_view("\x6C\x9D\x4B\xFC\xF2\xB9\x4A\x56", 8), "NCCL"},
};

}  // namespace

absl::string_view ForeignProtocol(absl::string_view first_bytes) {
  for (const Opening& opening : kOpenings) {
    if (first_bytes.size() >= opening.at &&
        first_bytes.substr(opening.at, opening.bytes.size()) == opening.bytes) {
      return opening.name;
    }
  }
  return "an unknown protocol";
}

}  // namespace autobatch
