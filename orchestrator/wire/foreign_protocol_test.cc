#include "orchestrator/wire/foreign_protocol.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(ForeignProtocolTest, KnownOpenings_NamedAndWhenCutShort_Unknown) {
  using std::string_literals::operator""s;
  const std::vector<std::pair<std::string, absl::string_view>> cases = {
      {"\xAB\x41\x42\x46\0\1\0\1"s, "autobatch without TLS"},
      {"\x16\x03\x01\x02\0\x01"s, "TLS"},
      {"GET / HTTP/1.1\r\n", "HTTP"},
      {"POST /v3/kv/put", "HTTP"},
      {"PRI * HTTP/2.0\r\n", "HTTP/2 or gRPC"},
      {"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH"},
      {"\0\xCE\xF7\x85\x3C\x0D"s, "PyTorch's TCPStore"},
      {"\x6C\x9D\x4B\xFC\xF2\xB9\x4A\x56"s, "NCCL"},
      {"\0\0\0\0\0\0\0\0"s, "an unknown protocol"},
      {"", "an unknown protocol"},
  };
  for (const auto& [bytes, name] : cases) {
    EXPECT_EQ(ForeignProtocol(bytes), name) << bytes;
    EXPECT_EQ(ForeignProtocol(bytes.substr(0, 1)), "an unknown protocol") << bytes;
  }
}

}  // namespace
}  // namespace autobatch
