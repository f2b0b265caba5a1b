#include "orchestrator/net/port_holder.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using boost::asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:72D8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "4711 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0100007F:72D8 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "4712 1 0000000000000000 20 4 30 10 -1\n"
    "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "99 1 0000000000000000 100 0 0 10 0\n"
    "   3: broken\n";

TEST(PortHolderTest, ListeningInodes_KnownTable_ListenersOfThePortOnly) {
  EXPECT_THAT(ListeningInodes(kTable, 29400), ElementsAre(4711));
  EXPECT_THAT(ListeningInodes(kTable, 22), ElementsAre(99));
  EXPECT_THAT(ListeningInodes(kTable, 23), IsEmpty());
  EXPECT_THAT(ListeningInodes("", 22), IsEmpty());
}

TEST(PortHolderTest, HolderOfPort_ThisProcessListens_ItsPidAndName) {
  boost::asio::io_context io(1);
  for (const tcp& protocol : {tcp::v4(), tcp::v6()}) {
    boost::system::error_code no_ipv6;
    tcp::acceptor acceptor(io);
    acceptor.open(protocol, no_ipv6);
    if (no_ipv6) continue;
    acceptor.bind(tcp::endpoint(protocol, 0), no_ipv6);
    acceptor.listen();
    const uint16_t port = acceptor.local_endpoint().port();
    EXPECT_THAT(HolderOfPort(port), HasSubstr(absl::StrCat("by pid ", getpid(), " (port_holder")));
    acceptor.close();
    EXPECT_EQ(HolderOfPort(port), "");
  }
}

}  // namespace
}  // namespace autobatch
