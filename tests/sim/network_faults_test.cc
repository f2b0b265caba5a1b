// What comes over the network, or does not: peers that read nothing or say nonsense, callers that
// never prove themselves, clocks, descriptors and names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "orchestrator/wire/frame.h"
#include "orchestrator/wire/messages.h"
#include "tests/sim/fault_test_base.h"

namespace autobatch::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A member's connection, through which anything may be said.
struct Peer {
  std::shared_ptr<Endpoint> end;
  std::string why_closed;
};

class NetworkFaultTest : public FaultTest {
 protected:
  // Somebody who knows the secret, calls from a host of his own, and says hello by this name.
  std::shared_ptr<Peer> Join(const std::string& name) {
    auto peer = std::make_shared<Peer>();
    AgentHello hello = agent(0).setup().config.hello;
    hello.agent = hello.incarnation = hello.boot_id = name;
    for (AnnouncedDevice& device : hello.devices) device.uuid = name + device.uuid;
    cluster().network().Connect(99, agent(0).setup().secret, [=](const auto& end) {
      ASSERT_TRUE(end.ok()) << end.status();
      peer->end = *end;
      peer->end->on_bytes = [](absl::string_view) {};
      // It keeps its end, which must not keep it in turn.
      peer->end->on_closed = [weak = std::weak_ptr(peer)](const std::string& why) {
        if (const auto closed = weak.lock()) closed->why_closed = why;
      };
      peer->end->Send(*EncodeFrame(*EncodeMessage(hello)));
    });
    EXPECT_TRUE(cluster().RunUntil([&] { return peer->end != nullptr; }, kPlenty));
    cluster().Run(absl::Milliseconds(100));
    return peer;
  }
  bool Closed(const std::shared_ptr<Peer>& peer) {
    return cluster().RunUntil([&] { return !peer->why_closed.empty(); }, kPlenty);
  }
};

// The header of a heartbeat with a payload of so many bytes.
std::string Header(uint32_t length) {
  std::string header = EncodeFrame({.type = 3})->substr(0, kFrameHeaderSize);
  for (int i = 0; i < 4; ++i) header[8 + i] = static_cast<char>(length >> (24 - 8 * i));
  return header;
}

// F10
TEST_F(NetworkFaultTest, PeerThatNeverReads_IsDroppedAndTheOthersGoOn) {
  ClusterOptions options = TwoOfThree();
  // It is not noticed by what it does not say.
  options.coordinator.lost_after = 3600;
  Make(options).Start();
  cluster().network().window = 512;
  // What is on its way before the record is smaller.
  coordinator().on_send = [this](const coordinator::Send& send) {
    if (Is<Prepare>(send) && agent(2).running()) agent(2).Stop();
  };
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().Said("not done in time"); }, kPlenty));
  ASSERT_TRUE(Agree());
  EXPECT_THAT(cluster().Training(), UnorderedElementsAre("agent-1", "agent-2"));
}

// F11
TEST_F(NetworkFaultTest, CallersThatNeverProveThemselves_HoldNobodyUpBeyondTheirDeadline) {
  Make(AllOfThree());
  Doorway& doorway = cluster().network().doorway();
  for (int i = 0; i < 2000; ++i) {
    doorway.Loiter(absl::StrCat("192.0.2.", i % 50), absl::Hours(1));
  }
  cluster().Start();
  // Three honest callers of 53 networks: their turn comes as the first give way.
  ASSERT_TRUE(Agree(absl::Minutes(2)));
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
  EXPECT_TRUE(cluster().RunUntil([&] { return doorway.callers() == 0; }, absl::Minutes(2)));
}

// F12
TEST_F(NetworkFaultTest, LengthsOfEveryKind_EndOneConnectionOnly) {
  Make(AllOfThree()).Start();
  int number = 0;
  for (const uint32_t length :
       {0u, 1u, kMemberPayloadLimit + 1, 1u << 31, std::numeric_limits<uint32_t>::max()}) {
    const std::string name = absl::StrCat("odd-", ++number);
    const auto peer = Join(name);
    peer->end->Send(Header(length) + std::string(length < 2 ? length : 0, '{'));
    cluster().Run(absl::Seconds(1));
    EXPECT_NE(peer->why_closed, "") << length;
    EXPECT_TRUE(cluster().Said(absl::StrCat("refused a message of ", name, ": "))) << length;
  }
  // The largest that may be: nothing is kept for it before it comes, and it is no message.
  const auto peer = Join("largest");
  peer->end->Send(Header(kMemberPayloadLimit));
  cluster().Run(absl::Seconds(1));
  EXPECT_EQ(peer->why_closed, "");
  peer->end->Cut();
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

// F13
TEST_F(NetworkFaultTest, GarbageOfAMember_EndsItsConnectionAndOnceTooOftenItsPlace) {
  Make(AllOfThree()).Start();
  for (const char* garbage : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "\0\0\0\0"}) {
    const auto peer = Join("mad");
    peer->end->Send(std::string(garbage, 4) + std::string(64, '\xff'));
    EXPECT_TRUE(Closed(peer));
  }
  EXPECT_TRUE(cluster().Said("mad is lost: it has broken the protocol 3 times"));
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

// F14
TEST_F(NetworkFaultTest, PortScan_TakesNoPlaceAndSaysNothing) {
  Make(AllOfThree()).Start();
  for (int i = 0; i < 1000; ++i) {
    cluster().network().doorway().Loiter("192.0.2.7", absl::Microseconds(i % 100));
    cluster().Run(absl::Milliseconds(1));
  }
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
  EXPECT_FALSE(cluster().Said("192.0.2.7"));
}

// F20
TEST_F(NetworkFaultTest, WallClockThatJumps_MovesNothing) {
  const auto run = [this](std::function<std::string()> clock) {
    ClusterOptions options = TwoOfThree();
    options.wall_clock = std::move(clock);
    Make(options).Start();
    EXPECT_TRUE(Agree());
    agent(2).Kill();
    EXPECT_TRUE(Agree());
    return cluster().Log();
  };
  const std::string steady = run(nullptr);
  int hours = 0;
  const std::string jumping = run([&hours] {
    hours += hours % 2 == 0 ? 5 : -3;
    return absl::StrFormat("2026-01-01T%02d:00:00+00:00", hours);
  });
  EXPECT_GT(hours, 0);
  // To the millisecond.
  EXPECT_EQ(jumping, steady);
}

// F25
TEST_F(NetworkFaultTest, ThousandAgentsWithoutDescriptors_AreAllServedOnceThereAreSome) {
  ClusterOptions options{.agents = 1000, .devices = 1};
  options.coordinator.min_nodes = 1000;
  Make(options);
  cluster().network().doorway().Exhaust(absl::Seconds(20));
  cluster().Start();
  cluster().Run(absl::Seconds(19));
  EXPECT_FALSE(cluster().Said("joined"));
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 1000);
  EXPECT_GE(cluster().network().doorway().most_callers(), 1000u);
}

// F26
TEST_F(NetworkFaultTest, NameThatComesLate_IsAskedForAgain) {
  Make(AllOfThree());
  int asked = 0;
  agent(1).setup().resolve = [&asked] {
    return AgentHost::Resolved{.status = ++asked < 10 ? absl::NotFoundError("no such host")
                                                      : absl::OkStatus()};
  };
  cluster().Start();
  ASSERT_TRUE(Agree());
  EXPECT_EQ(asked, 10);
}

TEST_F(NetworkFaultTest, NameServerThatTakesTenSeconds_DelaysNobodyElse) {
  Make(TwoOfThree());
  agent(2).setup().resolve = [] { return AgentHost::Resolved{.takes = absl::Seconds(10)}; };
  cluster().Start();
  ASSERT_TRUE(
      cluster().RunUntil([this] { return cluster().Said("round 1 begins"); }, absl::Seconds(9)));
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

TEST_F(NetworkFaultTest, NameThatNeverComes_EndsWithTheReasonAndWhoIsMissing) {
  Make(AllOfThree());
  agent(1).setup().config.join_timeout = absl::Seconds(30);
  agent(1).setup().resolve = [] {
    return AgentHost::Resolved{.takes = absl::Seconds(10),
                               .status = absl::UnavailableError("the name server is silent")};
  };
  cluster().Start();
  ASSERT_TRUE(AgentEnds(1));
  EXPECT_EQ(agent(1).finished()->exit_code, 8);
  EXPECT_THAT(agent(1).finished()->text, HasSubstr("the name server is silent"));
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-2"));
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

}  // namespace
}  // namespace autobatch::sim
