#include "tests/sim/cluster_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/version.h"
#include "autobatch/types/json.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/net/secret.h"

namespace autobatch::sim {
namespace {

constexpr char kRunId[] = "simulated-run";
constexpr char kSecret[] = "the run's own secret";
constexpr absl::Duration kLook = absl::Milliseconds(20);

// Differs between devices and, by a little, between rounds.
int64_t UsualBatch(absl::string_view uuid, int64_t round) {
  int64_t hash = 7;
  for (const char c : uuid) hash = (hash * 31 + c) % 9973;
  return 16 + hash % 97 + round % 5;
}

CoordinatorConfig Complete(const ClusterOptions& options) {
  CoordinatorConfig config = options.coordinator;
  config.run_id = kRunId;
  if (config.max_nodes == 1) config.max_nodes = options.agents;
  return config;
}

DigestFunction Digest() { return *MakeKeyedSeal(*Secret::FromBytes(kSecret)); }

}  // namespace

ClusterModel::ClusterModel(ClusterOptions options)
    : options_([&] {
        if (!options.batch) options.batch = UsualBatch;
        return std::move(options);
      }()),
      random_(options_.seed),
      network_(time_, random_),
      digest_(Digest()) {
  network_.secret = kSecret;
  network_.checks_secret = options_.sabotage != Sabotage::kAuthentication;
  RecordOptions record{.digest = digest_, .created = options_.wall_clock};
  if (!record.created) record.created = [] { return "2026-01-01T00:00:00+00:00"; };
  coordinator_ = std::make_unique<CoordinatorHost>(
      CoordinatorHost::Parts{
          time_, network_, random_, ledger_,
          [this](const std::string& who, const std::string& text) { Note(who, text); }},
      Complete(options_), MakeRecordMaker(std::move(record)), options_.sabotage);
  for (int i = 0; i < options_.agents; ++i) AddAgent();
}

AgentHost& ClusterModel::AddAgent(bool stranger) {
  const int number = agents() + 1;
  AgentHost::Setup setup{.host = number,
                         .secret = stranger ? "a guess" : kSecret,
                         .check_record = MakeRecordChecker(digest_),
                         .batch = options_.batch,
                         .sabotage = options_.sabotage};
  AgentHello& hello = setup.config.hello;
  hello.run_id = kRunId;
  hello.agent = absl::StrCat(stranger ? "stranger-" : "agent-", number);
  hello.incarnation = "filled-in-at-start";
  hello.boot_id = absl::StrCat("boot-", number);
  hello.config_digest = "sha256:same";
  hello.versions = {{.name = "autobatch", .value = kVersion}};
  hello.workload = "resnet18";
  hello.simulated = true;
  for (int i = 0; i < options_.devices; ++i) {
    hello.devices.push_back(
        {.uuid = absl::StrCat("SIM-", number, "-", i), .name = "card", .total_bytes = 1 << 30});
  }
  agents_.push_back(std::make_unique<AgentHost>(
      AgentHost::Parts{
          time_, network_, random_, ledger_, reductions_,
          [this](const std::string& who, const std::string& text) { Note(who, text); }},
      std::move(setup)));
  return *agents_.back();
}

void ClusterModel::Start() {
  coordinator_->Start();
  for (const std::unique_ptr<AgentHost>& agent : agents_) agent->Start();
}

void ClusterModel::Run(absl::Duration duration) {
  const absl::Status status = time_.RunUntil(Add(time_.Now(), duration));
  if (!status.ok()) ledger_.Violate(std::string(status.message()));
}

bool ClusterModel::RunUntil(const std::function<bool()>& holds, absl::Duration limit) {
  const SteadyTime end = Add(time_.Now(), limit);
  while (!holds()) {
    if (time_.Now() >= end) return false;
    Run(kLook);
  }
  return true;
}

std::vector<std::string> ClusterModel::Training() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<AgentHost>& agent : agents_) {
    if (agent->training_round() != 0 && agent->training_round() == ledger_.last_round() &&
        agent->training_digest() == ledger_.last_digest()) {
      names.push_back(agent->name());
    }
  }
  return names;
}

bool ClusterModel::Agreed() const {
  const std::optional<coordinator::RoundEnded>& round = coordinator_->last_round();
  if (!coordinator_->running() || !round.has_value() || !round->committed) return false;
  std::vector<std::string> members;
  for (const NodeOutcomes& node : round->nodes) members.push_back(node.node);
  std::vector<std::string> alive;
  for (const std::unique_ptr<AgentHost>& agent : agents_) {
    if (agent->running() && !agent->stopped()) alive.push_back(agent->name());
  }
  std::sort(members.begin(), members.end());
  std::sort(alive.begin(), alive.end());
  std::vector<std::string> training = Training();
  std::sort(training.begin(), training.end());
  return !alive.empty() && members == alive && training == alive;
}

std::optional<Record> ClusterModel::LastRecord() const {
  const std::optional<coordinator::RoundEnded>& round = coordinator_->last_round();
  if (!round.has_value() || !round->committed) return std::nullopt;
  const absl::StatusOr<Record> record = FromJson<Record>(*round->record);
  return record.ok() ? std::make_optional(*record) : std::nullopt;
}

void ClusterModel::Note(const std::string& who, const std::string& text) {
  log_.push_back(absl::StrFormat("%9.3f %-12s %s",
                                 absl::ToDoubleSeconds(Between(start_, time_.Now())), who, text));
}

std::string ClusterModel::Log() const { return absl::StrJoin(log_, "\n"); }

bool ClusterModel::Said(absl::string_view text) const {
  for (const std::string& line : log_) {
    if (absl::string_view(line).find(text) != absl::string_view::npos) return true;
  }
  return false;
}

}  // namespace autobatch::sim
