#include "orchestrator/net/handshake_gate.h"

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);

SteadyTime At(double seconds) {
  return Add(SteadyTime(std::chrono::hours(1)), absl::Seconds(seconds));
}

TEST(HandshakeGateTest, Enter_UpToThePlaces_Full) {
  HandshakeGate gate(2, kPatience);
  const auto first = gate.Enter("a", At(0));
  EXPECT_FALSE(gate.full());
  gate.Enter("b", At(0));
  EXPECT_TRUE(gate.full());
  gate.Leave(first);
  gate.Leave(first);
  EXPECT_EQ(gate.size(), 1u);
}

TEST(HandshakeGateTest, Victim_RoomOrAllYoung_None) {
  HandshakeGate gate(2, kPatience);
  gate.Enter("a", At(0));
  EXPECT_EQ(gate.Victim(At(100)), std::nullopt);
  EXPECT_EQ(gate.NextVictim(), SteadyTime::max());
  gate.Enter("a", At(0.5));
  EXPECT_EQ(gate.Victim(At(0.9)), std::nullopt);
  EXPECT_EQ(gate.NextVictim(), At(1));
}

TEST(HandshakeGateTest, Victim_FloodFromOneNetwork_ItsOldestAndNeverTheOthers) {
  HandshakeGate gate(4, kPatience);
  const auto honest = gate.Enter("honest", At(0));
  std::vector<HandshakeGate::Ticket> flood;
  for (int i = 0; i < 3; ++i) flood.push_back(gate.Enter("flood", At(1 + i)));
  EXPECT_EQ(gate.Victim(At(10)), flood[0]);
  gate.Leave(flood[0]);
  flood.push_back(gate.Enter("flood", At(10)));
  EXPECT_EQ(gate.Victim(At(10)), flood[1]);
  EXPECT_NE(gate.Victim(At(10)), honest);
}

TEST(HandshakeGateTest, Victim_NetworksWithEquallyMany_TheOldest) {
  HandshakeGate gate(2, kPatience);
  gate.Enter("a", At(1));
  const auto oldest = gate.Enter("b", At(0));
  EXPECT_EQ(gate.Victim(At(5)), oldest);
}

}  // namespace
}  // namespace autobatch
