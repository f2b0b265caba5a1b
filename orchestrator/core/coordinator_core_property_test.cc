// A coordinator among agents that do whatever can happen, in any order: what must hold, holds.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/wire/whole_message.h"

namespace autobatch {
namespace {

constexpr int kAgents = 6;
constexpr int kSteps = 400;

// An agent that keeps to the protocol, on a connection that does not last.
struct Agent {
  std::string name;
  int64_t incarnation = 1;
  ConnectionId connection = 0;  // 0: none
  bool member = false;
  int64_t sequence = 0;
  int64_t round = 0;
  bool reported = true;
  std::string prepared;
  std::string committed;
};

class Walk {
 public:
  explicit Walk(uint32_t seed) : random_(seed) {
    config_ = {.run_id = "r", .min_nodes = 2, .max_nodes = 4, .max_members = 5};
    for (int i = 0; i < kAgents; ++i) agents_.push_back({.name = absl::StrCat("n", i)});
    Start(std::nullopt);
  }

  void Run() {
    for (int step = 0; step < kSteps && !finished_ && !::testing::Test::HasFailure(); ++step) {
      Step();
    }
  }

  int commits() const { return static_cast<int>(committed_.size()); }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }

  void Start(std::optional<CoordinatorState> state) {
    core_ = std::make_unique<CoordinatorCore>(config_, std::move(state), MakeRecord, now_);
    pending_.clear();
    for (Agent& agent : agents_) {
      agent.connection = 0;
      agent.member = false;
    }
  }

  static absl::StatusOr<AgreedRecord> MakeRecord(const RoundFacts& facts) {
    std::string digest = absl::StrCat("d", facts.round, "-", facts.minimum_batch);
    for (const RoundMember& member : facts.members) absl::StrAppend(&digest, "-", member.agent);
    return AgreedRecord{.text = "{}", .digest = digest};
  }

  void Step() {
    Agent& agent = agents_[Pick(kAgents)];
    switch (Pick(60)) {
      case 0:
        if (agent.connection != 0) {
          const ConnectionId broken = agent.connection;
          agent.connection = 0;
          agent.member = false;
          Give(coordinator::Disconnected{broken, "reset"});
        }
        break;
      case 1:
        // Killed and started again; the old connection may hang for a while.
        ++agent.incarnation;
        agent.connection = 0;
        agent.member = false;
        agent.prepared.clear();
        agent.committed.clear();
        break;
      case 2:
        Say(agent, Leave{.reason = "drained"});
        break;
      case 3:
        Say(agent, Report{.round = std::max<int64_t>(1, agent.round - 1)});
        break;
      case 4:
        Say(agent, Prepared{.round = std::max<int64_t>(1, agent.round), .digest = "forged"});
        break;
      case 5:
        now_ = Add(now_, absl::Seconds(Pick(3) == 0 ? 30 : 1));
        Give(coordinator::Woke{});
        break;
      case 6:
        if (Pick(8) == 0) Start(written_);
        break;
      case 7:
      case 8:
      case 9:
        now_ = Add(now_, absl::Milliseconds(1100));
        for (Agent& other : agents_) Say(other, Heartbeat{.sequence = ++other.sequence});
        Give(coordinator::Woke{});
        break;
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16:
        if (!pending_.empty()) {
          const coordinator::Persist persist = pending_.front();
          pending_.erase(pending_.begin());
          written_ = persist.state;
          Give(coordinator::Persisted{persist.sequence, absl::OkStatus()});
        }
        break;
      default:
        Act(agent);
    }
  }

  // What a well-behaved agent would do next.
  void Act(Agent& agent) {
    if (agent.connection == 0) {
      agent.connection = ++last_connection_;
      Give(coordinator::Connected{agent.connection, agent.name});
      AgentHello hello{.run_id = "r",
                       .round = agent.round,
                       .agent = agent.name,
                       .incarnation = absl::StrCat(agent.name, ".", agent.incarnation),
                       .boot_id = agent.name,
                       .devices = {{.uuid = absl::StrCat("GPU-", agent.name)}},
                       .prepared_digest = agent.prepared,
                       .committed_digest = agent.committed};
      if (agent.connection != 0) Say(agent, hello);
    } else if (!agent.reported) {
      agent.reported = true;
      Say(agent,
          Report{.round = agent.round,
                 .devices = {{.uuid = absl::StrCat("GPU-", agent.name), .batch = 1 + Pick(64)}}});
    } else if (!agent.committed.empty()) {
      Say(agent, Committed{.round = agent.round, .digest = agent.committed});
    } else if (!agent.prepared.empty()) {
      Say(agent, Prepared{.round = agent.round, .digest = agent.prepared});
    }
  }

  template <typename T>
  void Say(Agent& agent, T message) {
    if (agent.connection == 0) return;
    message.run_id = "r";
    Give(coordinator::Received{agent.connection, Message(std::move(message))});
  }

  void Give(const CoordinatorEvent& event) {
    if (finished_) return;
    for (const CoordinatorAction& action : core_->Handle(event, now_)) Do(action);
    const auto wake = core_->NextWake();
    EXPECT_TRUE(finished_ || wake.has_value());
  }

  Agent* Owner(ConnectionId connection) {
    for (Agent& agent : agents_) {
      if (agent.connection == connection) return &agent;
    }
    return nullptr;
  }

  void Do(const CoordinatorAction& action) {
    EXPECT_FALSE(finished_) << "an action after the end";
    if (const auto* send = std::get_if<coordinator::Send>(&action)) {
      const Message message = WholeMessage(*send->frame).value();
      Check(message);
      Agent* const agent = Owner(send->connection);
      if (agent != nullptr) Hear(*agent, message);
    } else if (const auto* close = std::get_if<coordinator::Close>(&action)) {
      EXPECT_EQ(closed_.count(close->connection), 0u) << "closed twice";
      closed_.insert(close->connection);
      if (Agent* const agent = Owner(close->connection); agent != nullptr) {
        agent->connection = 0;
        agent->member = false;
      }
    } else if (const auto* persist = std::get_if<coordinator::Persist>(&action)) {
      EXPECT_EQ(ValidateState(persist->state, "r"), absl::OkStatus());
      pending_.push_back(*persist);
    } else if (const auto* ended = std::get_if<coordinator::RoundEnded>(&action)) {
      if (!ended->committed) return;
      EXPECT_TRUE(committed_.emplace(ended->round, ended->digest).second) << "two records a round";
      EXPECT_EQ(ended->round, committed_.rbegin()->first) << "rounds do not increase";
    } else if (std::holds_alternative<coordinator::Finished>(action)) {
      finished_ = true;
    }
  }

  // What is said to anybody.
  void Check(const Message& message) {
    const int64_t round = RoundOf(message);
    if (std::holds_alternative<Collect>(message)) {
      EXPECT_GE(written_.value_or(CoordinatorState()).round, round) << "not on the disk yet";
      EXPECT_GE(round, last_round_) << "rounds do not increase";
      last_round_ = round;
    } else if (std::holds_alternative<Prepare>(message)) {
      EXPECT_EQ(written_->round, round);
      EXPECT_LT(written_->committed_round, round);
    } else if (const auto* commit = std::get_if<Commit>(&message)) {
      EXPECT_EQ(written_->committed_digest, commit->digest);
      EXPECT_EQ(written_->committed_round, round);
      EXPECT_TRUE(told_.emplace(round, commit->digest).first->second == commit->digest);
    }
  }

  void Hear(Agent& agent, const Message& message) {
    if (std::holds_alternative<Welcome>(message)) {
      agent.member = true;
      agent.sequence = 0;
    } else if (const auto* collect = std::get_if<Collect>(&message)) {
      EXPECT_GE(collect->round, agent.round);
      agent.round = collect->round;
      agent.reported = false;
      agent.prepared.clear();
    } else if (const auto* prepare = std::get_if<Prepare>(&message)) {
      EXPECT_EQ(prepare->round, agent.round) << "prepare without collect";
      agent.prepared = prepare->digest;
      agent.committed.clear();
    } else if (const auto* commit = std::get_if<Commit>(&message)) {
      EXPECT_EQ(commit->digest, agent.prepared) << "commit of what was not prepared here";
      agent.committed = commit->digest;
    } else if (std::holds_alternative<Abort>(message)) {
      agent.prepared.clear();
    } else if (const auto* refuse = std::get_if<Refuse>(&message)) {
      if (refuse->code != RefuseCode::kStaleRound || !refuse->closing) return;
      ++agent.incarnation;
      agent.prepared.clear();
      agent.committed.clear();
    }
  }

  std::mt19937 random_;
  CoordinatorConfig config_;
  SteadyTime now_{};
  std::unique_ptr<CoordinatorCore> core_;
  std::vector<Agent> agents_;
  std::vector<coordinator::Persist> pending_;
  std::optional<CoordinatorState> written_;
  std::set<ConnectionId> closed_;
  ConnectionId last_connection_ = 0;
  int64_t last_round_ = 0;
  std::map<int64_t, std::string> committed_;
  std::map<int64_t, std::string> told_;
  bool finished_ = false;
};

TEST(CoordinatorCorePropertyTest, WhateverHappens_RoundsIncreaseAndNothingIsSaidBeforeItIsWritten) {
  const uint32_t first = std::random_device()();
  std::cout << "first seed " << first << std::endl;
  int commits = 0;
  for (uint32_t seed = first; seed < first + 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Walk walk(seed);
    walk.Run();
    commits += walk.commits();
  }
  std::cout << commits << " commits" << std::endl;
  EXPECT_GT(commits, 100) << "the walk does not get anywhere";
}

}  // namespace
}  // namespace autobatch
