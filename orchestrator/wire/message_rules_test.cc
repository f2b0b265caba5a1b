#include "orchestrator/wire/message_rules.h"

#include <gmock/gmock.h>

#include <iostream>
#include <random>

#include "orchestrator/wire/message_samples.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

template <typename T>
T Sample() {
  for (const Message& message : SampleMessages()) {
    if (const T* sample = std::get_if<T>(&message)) return *sample;
  }
  return T();
}

// The complaint about a sample after `spoil`.
template <typename T, typename F>
std::string Complaint(F spoil) {
  T message = Sample<T>();
  EXPECT_EQ(Validate(message), absl::OkStatus());
  spoil(message);
  return std::string(Validate(message).message());
}

TEST(MessageRulesTest, RunAndRound_AreDemandedOfEveryMessage) {
  for (Message message : SampleMessages()) {
    std::visit([](auto& m) { m.round = -1; }, message);
    const auto validate = [](const Message& m) {
      return std::visit([](const auto& inner) { return Validate(inner); }, m);
    };
    EXPECT_THAT(validate(message).message(), HasSubstr("round: -1 is not within"))
        << MessageName(message);
    std::visit([](auto& m) { m.run_id = "a b"; }, message);
    EXPECT_THAT(validate(message).message(), HasSubstr("run_id: \"a b\"")) << MessageName(message);
  }
}

TEST(MessageRulesTest, Hello_IsBoundedInEveryField) {
  const auto complaint = [](auto spoil) { return Complaint<AgentHello>(spoil); };
  EXPECT_EQ(complaint([](AgentHello& h) { h.agent.clear(); }), "agent: is empty");
  EXPECT_THAT(complaint([](AgentHello& h) { h.agent = "a\nb"; }), HasSubstr("agent: \"a\\nb\""));
  EXPECT_THAT(complaint([](AgentHello& h) { h.agent = std::string(129, 'a'); }),
              HasSubstr("129 bytes"));
  EXPECT_EQ(complaint([](AgentHello& h) { h.agent = std::string(128, 'a'); }), "");
  EXPECT_EQ(complaint([](AgentHello& h) { h.incarnation.clear(); }), "incarnation: is empty");
  EXPECT_EQ(complaint([](AgentHello& h) { h.boot_id.clear(); }), "boot_id: is empty");
  EXPECT_THAT(complaint([](AgentHello& h) { h.node_rank = -1; }), HasSubstr("node_rank: -1"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.node_rank = kMaxWorld; }), HasSubstr("node_rank"));
  EXPECT_EQ(complaint([](AgentHello& h) { h.devices.clear(); }), "");
  EXPECT_THAT(complaint([](AgentHello& h) { h.devices.resize(257); }), HasSubstr("257 entries"));
  EXPECT_EQ(complaint([](AgentHello& h) { h.devices[0].uuid.clear(); }),
            "devices[0].uuid: is empty");
  EXPECT_THAT(complaint([](AgentHello& h) { h.devices[0].name = "\x1b[31m"; }),
              HasSubstr("devices[0].name: \"\\x1b[31m\" has control characters"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.devices[0].total_bytes = -1; }),
              HasSubstr("devices[0].total_bytes: -1"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.launcher.world_size = 0; }),
              HasSubstr("launcher.world_size: 0"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.launcher.node_count = kMaxWorld + 1; }),
              HasSubstr("launcher.node_count"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.launcher.local_world_size = 0; }),
              HasSubstr("launcher.local_world_size"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.launcher.launcher = "a b"; }),
              HasSubstr("launcher.launcher"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.config.resize(129); }),
              HasSubstr("config: 129 entries"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.config[0].name.clear(); }),
              HasSubstr("config[0].name: is empty"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.config[0].value = std::string(4097, 'x'); }),
              HasSubstr("config[0].value: 4097 bytes"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.config_digest = " "; }), HasSubstr("config_digest"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.versions[0].name = ""; }),
              HasSubstr("versions[0].name"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.prepared_digest = "?"; }),
              HasSubstr("prepared_digest"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.committed_digest = "?"; }),
              HasSubstr("committed_digest"));
  EXPECT_THAT(complaint([](AgentHello& h) { h.workload = "\r"; }), HasSubstr("workload"));
}

TEST(MessageRulesTest, OtherMessages_AreBoundedInEveryField) {
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.round = 0; }), HasSubstr("round: 0"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices.resize(257); }), HasSubstr("257"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].batch = -1; }), HasSubstr("batch"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].message = "\x7f"; }),
              HasSubstr("devices[0].message"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].address = "\r"; }),
              HasSubstr("devices[0].address"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].name = "\r"; }),
              HasSubstr("devices[0].name"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].uuid = ""; }),
              HasSubstr("devices[0].uuid"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].total_bytes = kMaxBytes + 1; }),
              HasSubstr("total_bytes"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].others.resize(65); }),
              HasSubstr("others: 65 entries"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.devices[0].others[0].bytes = -1; }),
              HasSubstr("devices[0].others[0].bytes"));
  EXPECT_THAT(Complaint<Report>([](Report& r) { r.communicator_bytes = -1; }),
              HasSubstr("communicator_bytes"));
  EXPECT_THAT(Complaint<Heartbeat>([](Heartbeat& h) { h.sequence = -1; }), HasSubstr("sequence"));
  EXPECT_THAT(Complaint<ReduceId>([](ReduceId& r) { r.unique_id = "xy"; }),
              HasSubstr("not hexadecimal"));
  EXPECT_THAT(Complaint<ReduceId>([](ReduceId& r) { r.unique_id = ""; }), HasSubstr("empty"));
  EXPECT_THAT(Complaint<ReduceId>([](ReduceId& r) { r.attempt = 0; }), HasSubstr("attempt"));
  EXPECT_THAT(Complaint<ReduceResult>([](ReduceResult& r) { r.failure = "too"; }),
              HasSubstr("exactly if"));
  EXPECT_THAT(Complaint<ReduceResult>([](ReduceResult& r) { r.minimum.reset(); }),
              HasSubstr("exactly if"));
  EXPECT_THAT(Complaint<Prepared>([](Prepared& p) { p.digest.clear(); }), HasSubstr("digest"));
  EXPECT_THAT(Complaint<Committed>([](Committed& c) { c.round = 0; }), HasSubstr("round"));
  EXPECT_THAT(Complaint<Leave>([](Leave& l) { l.reason = "\x1b"; }), HasSubstr("reason"));
  EXPECT_THAT(Complaint<Leave>([](Leave& l) { l.reason = "left\nround 2 is committed"; }),
              HasSubstr("reason"));
  EXPECT_THAT(Complaint<Welcome>([](Welcome& w) { w.heartbeat_ms = 0; }), HasSubstr("heartbeat"));
  EXPECT_THAT(Complaint<Welcome>([](Welcome& w) { w.lost_after = 0; }), HasSubstr("lost_after"));
  EXPECT_THAT(Complaint<Welcome>([](Welcome& w) { w.lease_ms = -1; }), HasSubstr("lease_ms"));
  EXPECT_THAT(Complaint<Welcome>([](Welcome& w) { w.standing_digest = "?"; }),
              HasSubstr("standing_digest"));
  EXPECT_THAT(Complaint<Progress>([](Progress& p) { p.have = -1; }), HasSubstr("have"));
  EXPECT_THAT(Complaint<Progress>([](Progress& p) { p.need = -1; }), HasSubstr("need"));
  EXPECT_THAT(Complaint<Progress>([](Progress& p) { p.missing.resize(4097); }), HasSubstr("4097"));
  EXPECT_THAT(Complaint<Collect>([](Collect& c) { c.round = 0; }), HasSubstr("round"));
  EXPECT_THAT(Complaint<Collect>([](Collect& c) { c.communicator_bytes = -1; }),
              HasSubstr("communicator_bytes"));
  EXPECT_THAT(Complaint<Reduce>([](Reduce& r) { r.rank_base = r.world; }), HasSubstr("rank_base"));
  EXPECT_THAT(Complaint<Reduce>([](Reduce& r) { r.world = kMaxWorld + 1; }), HasSubstr("world"));
  EXPECT_EQ(Complaint<Reduce>([](Reduce& r) { r.unique_id = ""; }), "");
  EXPECT_THAT(Complaint<Grants>([](Grants& g) { g.devices[0].batch = -1; }), HasSubstr("batch"));
  EXPECT_THAT(Complaint<Grants>([](Grants& g) { g.devices.resize(257); }), HasSubstr("257"));
  EXPECT_THAT(Complaint<Prepare>([](Prepare& p) { p.record = ""; }), HasSubstr("record"));
  EXPECT_THAT(Complaint<Prepare>([](Prepare& p) { p.record.resize(kMaxRecord + 1); }),
              HasSubstr("record: 3145729 bytes"));
  EXPECT_THAT(Complaint<Abort>([](Abort& a) { a.exit_code = 256; }), HasSubstr("exit_code"));
  EXPECT_THAT(Complaint<Refuse>([](Refuse& r) { r.reason.resize(4097, 'x'); }), HasSubstr("4097"));
  EXPECT_EQ(Complaint<Refuse>([](Refuse& r) { r.run_id = ""; }), "");
  EXPECT_THAT(Complaint<HeartbeatAck>([](HeartbeatAck& h) { h.sequence = -1; }),
              HasSubstr("sequence"));
}

TEST(MessageRulesTest, PlainText_KeepsCharactersAndCutsBetweenThem) {
  EXPECT_EQ(PlainText("größer\t中 😀"), "größer\t中 😀");
  EXPECT_EQ(PlainText("n1 left\nround 7 is committed"), "n1 left round 7 is committed");
  EXPECT_EQ(PlainText("\x1b[2J\r\x7f"), "?[2J??");
  EXPECT_EQ(PlainText("\xc2\x9b"
                      "1m"),
            "??1m");                                      // a control sequence of one character
  EXPECT_EQ(PlainText("a\xc3"), "a?");                    // cut short
  EXPECT_EQ(PlainText("\xc0\xaf\xed\xa0\x80"), "?????");  // longer than needed; a surrogate
  EXPECT_EQ(PlainText(absl::string_view("\0x", 2)), "?x");
  const std::string cut = PlainText(std::string(4095, 'a') + "ö");
  EXPECT_EQ(cut, std::string(4095, 'a'));
}

TEST(MessageRulesTest, RandomBytesMadePlain_AreValidTexts) {
  const uint32_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 5000, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? 'a' : random());
    Message message = Leave{.run_id = "r", .reason = bytes};
    const auto frame = EncodeMessage(message);
    ASSERT_TRUE(frame.ok()) << frame.status();
    const auto back = DecodeMessage(*frame);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(std::get<Leave>(*back).reason, PlainText(bytes));
  }
}

TEST(MessageRulesTest, MakePlain_CutsListsAndSaysSo) {
  Abort abort = Sample<Abort>();
  abort.missing.assign(5000, "node");
  MakePlain(abort);
  EXPECT_EQ(abort.missing.size(), kMaxNames);
  EXPECT_EQ(abort.missing.back(), "and 905 more");
  EXPECT_EQ(Validate(abort), absl::OkStatus());
}

}  // namespace
}  // namespace autobatch
