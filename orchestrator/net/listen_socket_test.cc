#include "orchestrator/net/listen_socket.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;
using asio::ip::tcp;

class ListenSocketTest : public ::testing::Test {
 protected:
  absl::StatusOr<tcp::acceptor> Open(const std::string& address, PortRange ports) {
    return OpenListenSocket(io_.get_executor(), address, ports);
  }
  asio::io_context io_{1};
};

TEST_F(ListenSocketTest, Open_AnyPort_TheChosenOneIsKnown) {
  const auto acceptor = Open("127.0.0.1", {0, 0});
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  EXPECT_EQ(AddressOf(*acceptor).host, "127.0.0.1");
  EXPECT_NE(AddressOf(*acceptor).port, 0);
}

TEST_F(ListenSocketTest, Open_PortInUse_ErrorNamesTheHolderAndWhatToDo) {
  const auto first = Open("127.0.0.1", {0, 0});
  const uint16_t port = AddressOf(*first).port;
  const absl::Status status = Open("127.0.0.1", {port, port}).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(status.message(),
              HasSubstr(absl::StrCat("port ", port, " is in use by pid ", getpid())));
  EXPECT_THAT(status.message(), HasSubstr("--port 0"));
}

TEST_F(ListenSocketTest, Open_Range_FirstFreePort) {
  const auto first = Open("127.0.0.1", {20000, 60000});
  ASSERT_TRUE(first.ok()) << first.status();
  const uint16_t port = AddressOf(*first).port;
  const auto second = Open("127.0.0.1", {port, 65535});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(AddressOf(*second).port, port);
  EXPECT_TRUE(absl::IsAlreadyExists(Open("127.0.0.1", {port, port}).status()));
}

TEST_F(ListenSocketTest, Open_NoAddressOfThisMachine_InvalidArgument) {
  EXPECT_TRUE(absl::IsInvalidArgument(Open("192.0.2.77", {0, 0}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Open("localhost", {0, 0}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Open("", {0, 0}).status()));
}

TEST_F(ListenSocketTest, Open_AllAddresses_BothFamiliesAndPeersInTheirOwnForm) {
  auto acceptor = Open("::", {0, 0});
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  const uint16_t port = AddressOf(*acceptor).port;
  for (const std::string address : {"127.0.0.1", "::1"}) {
    tcp::socket caller(io_);
    boost::system::error_code error;
    caller.connect({asio::ip::make_address(address), port}, error);
    // A machine without IPv6 has no ::1.
    if (error && address == "::1") continue;
    ASSERT_FALSE(error) << error.message();
    const tcp::socket accepted = acceptor->accept();
    EXPECT_EQ(PeerText(accepted), AddressText(caller.local_endpoint()));
    EXPECT_EQ(NetworkOf(accepted), address == "::1" ? "::" : "127.0.0.1");
  }
}

}  // namespace
}  // namespace autobatch
