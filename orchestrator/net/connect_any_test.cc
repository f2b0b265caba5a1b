#include "orchestrator/net/connect_any.h"

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/test_loop.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;
using asio::ip::tcp;

constexpr absl::Duration kDelay = absl::Milliseconds(250);

// An address that neither answers nor refuses: its backlog is full.
class Hole {
 public:
  explicit Hole(asio::io_context& io) : acceptor_(io) {
    acceptor_.open(tcp::v4());
    acceptor_.bind({asio::ip::address_v4::loopback(), 0});
    acceptor_.listen(0);
    for (int i = 0; i < 2; ++i) {
      fill_.emplace_back(io);
      fill_.back().open(tcp::v4());
      fill_.back().async_connect(acceptor_.local_endpoint(),
                                 [](const boost::system::error_code&) {});
    }
  }
  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  tcp::acceptor acceptor_;
  std::vector<tcp::socket> fill_;
};

class ConnectAnyTest : public ::testing::Test {
 protected:
  using Result = absl::StatusOr<tcp::socket>;

  void TearDown() override { loop_.Stop(); }

  static asio::awaitable<void> Store(asio::awaitable<Result> from, std::optional<Result>* into) {
    into->emplace(co_await std::move(from));
  }
  void Start(std::vector<tcp::endpoint> endpoints) {
    loop_.tasks.Spawn(
        "test",
        Store(ConnectAny(loop_.tasks, loop_.timers, std::move(endpoints), kDelay), &result_));
    loop_.Settle();
  }
  bool Await() {
    return loop_.RunUntil([this] { return result_.has_value(); });
  }

  TestLoop loop_;
  tcp::acceptor open_{loop_.io, {asio::ip::address_v4::loopback(), 0}};
  Hole hole_{loop_.io};
  // Privileged, and nobody listens there.
  const tcp::endpoint closed_{asio::ip::address_v4::loopback(), 1};
  std::optional<Result> result_;
};

TEST_F(ConnectAnyTest, FirstAnswers_Connected) {
  Start({open_.local_endpoint(), hole_.endpoint()});
  ASSERT_TRUE(Await());
  ASSERT_TRUE(result_->ok()) << result_->status();
  EXPECT_EQ((*result_)->remote_endpoint(), open_.local_endpoint());
}

TEST_F(ConnectAnyTest, FirstRefuses_NextAtOnce) {
  Start({closed_, closed_, open_.local_endpoint()});
  ASSERT_TRUE(Await());
  EXPECT_TRUE(result_->ok()) << result_->status();
}

TEST_F(ConnectAnyTest, FirstIsSilent_NextBesideItAfterTheDelay) {
  Start({hole_.endpoint(), open_.local_endpoint()});
  loop_.timers.Jump(kDelay - absl::Milliseconds(1));
  loop_.Settle();
  EXPECT_FALSE(result_.has_value());
  loop_.timers.Jump(absl::Milliseconds(1));
  ASSERT_TRUE(Await());
  EXPECT_TRUE(result_->ok()) << result_->status();
}

TEST_F(ConnectAnyTest, AllRefuse_UnavailableThatNamesEach) {
  const tcp::endpoint other(asio::ip::address_v4::loopback(), 2);
  Start({closed_, other});
  ASSERT_TRUE(Await());
  EXPECT_TRUE(absl::IsUnavailable(result_->status())) << result_->status();
  EXPECT_THAT(result_->status().message(), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(result_->status().message(), HasSubstr("127.0.0.1:2"));
}

TEST_F(ConnectAnyTest, NoRoute_NextAtOnce) {
  // IPv6's documentation prefix: an AAAA record without a route to it.
  Start({tcp::endpoint(asio::ip::make_address("2001:db8::1"), 1), open_.local_endpoint()});
  loop_.timers.Jump(kDelay);
  ASSERT_TRUE(Await());
  EXPECT_TRUE(result_->ok()) << result_->status();
}

TEST_F(ConnectAnyTest, SilentForEver_CancelEndsIt) {
  Start({hole_.endpoint(), hole_.endpoint()});
  loop_.timers.Jump(absl::Hours(1));
  loop_.Settle();
  EXPECT_FALSE(result_.has_value());
  loop_.Stop();
  ASSERT_TRUE(result_.has_value());
  EXPECT_TRUE(absl::IsCancelled(result_->status())) << result_->status();
}

}  // namespace
}  // namespace autobatch
