#include "orchestrator/core/coordinator_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/version.h"
#include "orchestrator/wire/whole_message.h"

namespace autobatch {

absl::StatusOr<AgreedRecord> TestRecord(const RoundFacts& facts) {
  int64_t ranks = 0;
  for (const RoundMember& member : facts.members) ranks += member.ranks;
  AgreedRecord record;
  record.digest =
      absl::StrCat("round-", facts.round, "-batch-", facts.minimum_batch, "-ranks-", ranks);
  record.text = absl::StrCat("{\"digest\": \"", record.digest, "\"}");
  return record;
}

AgentHello TestHello(absl::string_view agent, int devices) {
  AgentHello hello{.run_id = "r",
                   .agent = std::string(agent),
                   .incarnation = absl::StrCat(agent, ".1"),
                   .boot_id = absl::StrCat("boot-", agent),
                   .config = {{.name = "optimizer", .value = "adam"}},
                   .config_digest = "c",
                   .versions = {{.name = "autobatch", .value = kVersion}},
                   .workload = "resnet18"};
  for (int i = 0; i < devices; ++i) {
    hello.devices.push_back({.uuid = absl::StrCat("GPU-", agent, "-", i)});
  }
  return hello;
}

CoordinatorConfig CoordinatorHarness::TestConfig(int64_t min_nodes, int64_t max_nodes) {
  return {.run_id = "r", .min_nodes = min_nodes, .max_nodes = max_nodes};
}

CoordinatorHarness::CoordinatorHarness(CoordinatorConfig config,
                                       std::optional<CoordinatorState> restored,
                                       RecordMaker make_record) {
  EXPECT_EQ(ValidateConfig(config), absl::OkStatus());
  core = std::make_unique<CoordinatorCore>(std::move(config), std::move(restored),
                                           std::move(make_record), now);
}

ConnectionId CoordinatorHarness::Join(const AgentHello& hello) {
  const ConnectionId connection = ++last_connection_;
  hellos_[connection] = hello;
  Give(coordinator::Connected{connection, absl::StrCat("10.0.0.", connection)});
  Give(coordinator::Received{connection, hello});
  return connection;
}

void CoordinatorHarness::Say(ConnectionId connection, Message message) {
  std::visit(
      [&](auto& m) {
        m.run_id = "r";
        if (m.round == 0) m.round = rounds_[connection];
      },
      message);
  Give(coordinator::Received{connection, std::move(message)});
}

void CoordinatorHarness::Report(ConnectionId connection, int64_t batch) {
  autobatch::Report report;
  for (const AnnouncedDevice& device : hellos_[connection].devices) {
    report.devices.push_back(
        {.uuid = device.uuid, .status = ResultStatus::kConfirmed, .batch = batch});
  }
  Say(connection, report);
}

void CoordinatorHarness::Report(const std::vector<ConnectionId>& connections, int64_t batch) {
  for (const ConnectionId connection : connections) Report(connection, batch);
}

void CoordinatorHarness::Prepare(ConnectionId connection) {
  Say(connection, Prepared{.digest = digests_[connection]});
}

void CoordinatorHarness::Prepare(const std::vector<ConnectionId>& connections) {
  for (const ConnectionId connection : connections) Prepare(connection);
}

void CoordinatorHarness::Commit(ConnectionId connection) {
  Say(connection, Committed{.digest = digests_[connection]});
}

void CoordinatorHarness::Commit(const std::vector<ConnectionId>& connections) {
  for (const ConnectionId connection : connections) Commit(connection);
}

void CoordinatorHarness::RunRound(const std::vector<ConnectionId>& connections, int64_t batch) {
  Report(connections, batch);
  Prepare(connections);
  Commit(connections);
}

void CoordinatorHarness::Give(const CoordinatorEvent& event) {
  for (const CoordinatorAction& action : core->Handle(event, now)) Do(action);
}

void CoordinatorHarness::Pass(absl::Duration duration, const std::vector<ConnectionId>& alive) {
  const SteadyTime end = Add(now, duration);
  while (core->NextWake().has_value() && *core->NextWake() <= end) {
    now = std::max(now, *core->NextWake());
    for (const ConnectionId connection : alive) {
      if (!closed.contains(connection))
        Say(connection, Heartbeat{.sequence = ++sequences_[connection]});
    }
    Give(coordinator::Woke{});
  }
  now = end;
}

void CoordinatorHarness::Write(const absl::Status& status) {
  for (const coordinator::Persist& write : std::exchange(held, {})) {
    Give(coordinator::Persisted{write.sequence, status});
  }
}

void CoordinatorHarness::Do(const CoordinatorAction& action) {
  EXPECT_FALSE(finished.has_value()) << "an action after the end";
  if (const auto* send = std::get_if<coordinator::Send>(&action)) {
    EXPECT_FALSE(closed.contains(send->connection)) << "a frame after the close";
    ++frames;
    const auto message = WholeMessage(*send->frame);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_FALSE(IsFromAgent(*message));
    rounds_[send->connection] = RoundOf(*message);
    if (const auto* prepare = std::get_if<autobatch::Prepare>(&*message)) {
      digests_[send->connection] = prepare->digest;
    }
    inbox[send->connection].push_back(*message);
  } else if (const auto* close = std::get_if<coordinator::Close>(&action)) {
    closed[close->connection] = close->why;
  } else if (const auto* persist = std::get_if<coordinator::Persist>(&action)) {
    writes.push_back(*persist);
    if (hold_writes) {
      held.push_back(*persist);
    } else {
      Give(coordinator::Persisted{persist->sequence, absl::OkStatus()});
    }
  } else if (const auto* foresee = std::get_if<coordinator::Foresee>(&action)) {
    foreseen.push_back(foresee->state);
  } else if (const auto* say = std::get_if<coordinator::Say>(&action)) {
    absl::StrAppend(&said, say->text, "\n");
  } else if (const auto* ended = std::get_if<coordinator::RoundEnded>(&action)) {
    rounds.push_back(*ended);
  } else if (const auto* done = std::get_if<coordinator::CommitConfirmed>(&action)) {
    confirmed.push_back(*done);
  } else if (const auto* end = std::get_if<coordinator::Finished>(&action)) {
    finished = *end;
  }
}

}  // namespace autobatch
