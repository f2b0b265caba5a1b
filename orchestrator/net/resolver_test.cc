#include "orchestrator/net/resolver.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/test_loop.h"

namespace autobatch {
namespace {

using boost::asio::ip::make_address;
using boost::asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Resolver::Endpoints Endpoints(const std::vector<std::string>& addresses) {
  Resolver::Endpoints endpoints;
  for (const std::string& address : addresses) endpoints.emplace_back(make_address(address), 1);
  return endpoints;
}

std::vector<std::string> Text(const Resolver::Endpoints& endpoints) {
  std::vector<std::string> text;
  for (const auto& endpoint : endpoints) text.push_back(endpoint.address().to_string());
  return text;
}

TEST(ResolverTest, ByTurns_BothFamilies_FirstStaysFirstThenAlternate) {
  EXPECT_THAT(Text(ByTurns(Endpoints({"::1", "::2", "::3", "1.1.1.1", "2.2.2.2"}))),
              ElementsAre("::1", "1.1.1.1", "::2", "2.2.2.2", "::3"));
  EXPECT_THAT(Text(ByTurns(Endpoints({"1.1.1.1", "::1", "2.2.2.2"}))),
              ElementsAre("1.1.1.1", "::1", "2.2.2.2"));
  EXPECT_THAT(ByTurns({}), IsEmpty());
}

class SystemResolverTest : public ::testing::Test {
 protected:
  TestLoop loop_;
  std::unique_ptr<Resolver> resolver_ = Resolver::System(loop_.io.get_executor());
};

TEST_F(SystemResolverTest, Resolve_AddressAsText_ReadNotResolved) {
  for (const std::string address : {"10.0.0.3", "fd00::3", "::1"}) {
    const auto endpoints = loop_.Run(resolver_->Resolve({address, 29400}));
    ASSERT_TRUE(endpoints.ok()) << endpoints.status();
    EXPECT_THAT(*endpoints, ElementsAre(tcp::endpoint(make_address(address), 29400)));
  }
}

TEST_F(SystemResolverTest, Resolve_AddressOfALink_NeedsAnInterfaceThatIsHere) {
  EXPECT_TRUE(loop_.Run(resolver_->Resolve({"fe80::1%lo", 1})).ok());
  for (const std::string address : {"fe80::1", "fe80::1%nosuch"}) {
    const absl::Status status = loop_.Run(resolver_->Resolve({address, 1})).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), ::testing::HasSubstr("such as fe80::1%eth0"));
  }
}

TEST_F(SystemResolverTest, Resolve_Localhost_LoopbackWithThePort) {
  const auto endpoints = loop_.Run(resolver_->Resolve({"localhost", 29400}));
  ASSERT_TRUE(endpoints.ok()) << endpoints.status();
  for (const auto& endpoint : *endpoints) {
    EXPECT_TRUE(endpoint.address().is_loopback());
    EXPECT_EQ(endpoint.port(), 29400);
  }
}

TEST_F(SystemResolverTest, Resolve_NoSuchName_ErrorThatNamesIt) {
  const absl::Status status =
      loop_.Run(resolver_->Resolve({"no-such-host.invalid", 29400})).status();
  // Without a name server it cannot be known that there is none.
  EXPECT_TRUE(absl::IsNotFound(status) || absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no-such-host.invalid"));
}

// The look-up may go on for as long as it likes, and its answer finds nobody.
TEST_F(SystemResolverTest, Resolve_CancelledAtOnce_EndsAndLoopMayEnd) {
  for (int i = 0; i < 20; ++i) {
    TestLoop loop;
    const auto resolver = Resolver::System(loop.io.get_executor());
    std::optional<absl::StatusOr<Resolver::Endpoints>> result;
    boost::asio::co_spawn(
        loop.io, resolver->Resolve({"no-such-host.invalid", 1}),
        boost::asio::bind_cancellation_slot(
            loop.cancel.slot(),
            [&result](const std::exception_ptr&, absl::StatusOr<Resolver::Endpoints> value) {
              result.emplace(std::move(value));
            }));
    loop.io.poll();
    boost::asio::post(loop.io,
                      [&loop] { loop.cancel.emit(boost::asio::cancellation_type::terminal); });
    ASSERT_TRUE(loop.RunUntil([&result] { return result.has_value(); }));
    EXPECT_FALSE(result->ok());
  }
}

}  // namespace
}  // namespace autobatch
