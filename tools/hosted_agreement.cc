#include "tools/hosted_agreement.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/text.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/net/secret.h"
#include "orchestrator/service/coordinator_report.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/start_exit_code.h"
#include "tools/trial_lines.h"

namespace autobatch {
namespace {

absl::StatusOr<Credentials> CredentialsOf(const HostedRun& run) {
  const std::string& run_id = run.agent.config.hello.run_id;
  if (!run.own_secret) return LoadCredentials(run.agent.credentials, run_id);
  AB_ASSIGN_OR_RETURN(Secret secret, Secret::Random());
  return Credentials(SharedSecret{.run_id = run_id, .secret = std::move(secret)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostedAgreement>> HostedAgreement::Start(HostedRun run,
                                                                        ProgressLines& lines,
                                                                        int& exit_code) {
  auto agreement = std::unique_ptr<HostedAgreement>(new HostedAgreement(lines));
  const absl::StatusOr<Credentials> credentials = agreement->Prepare(run);
  exit_code = StartExitCode(credentials.status());
  AB_RETURN_IF_ERROR(credentials.status());
  absl::StatusOr<std::unique_ptr<AgentHost>> agent =
      AgentHost::Make(std::move(run.agent), *credentials, run.launcher, exit_code);
  AB_RETURN_IF_ERROR(agent.status());
  agreement->agent_ = *std::move(agent);
  for (const std::string& warning : agreement->agent_->warnings()) {
    lines.Say(WarningText(warning));
  }
  agreement->agent_thread_ = std::thread([self = agreement.get()] { self->RunAgent(); });
  return agreement;
}

absl::StatusOr<Credentials> HostedAgreement::Prepare(HostedRun& run) {
  AB_ASSIGN_OR_RETURN(Credentials credentials, CredentialsOf(run));
  AB_ASSIGN_OR_RETURN(digest_, MakeSeal(credentials));
  if (run.coordinator.has_value()) {
    AB_RETURN_IF_ERROR(StartCoordinator(*run.coordinator, credentials));
    run.agent.coordinator = {coordinator_->local_address()};
  }
  return credentials;
}

absl::Status HostedAgreement::StartCoordinator(const CoordinatorFlags& flags,
                                               const Credentials& credentials) {
  CoordinatorHooks hooks;
  // Of a single node the agent says enough.
  if (flags.config.max_nodes > 1) {
    hooks.say = [this](absl::string_view text) { lines_.Say(text); };
  }
  hooks.round_ended = [this](const coordinator::RoundEnded& ended) {
    CoordinatorReport report;
    AddRound(report, ended);
    if (ended.committed) lines_.Say(CommitText(report.rounds.back()));
  };
  AB_ASSIGN_OR_RETURN(coordinator_, CoordinatorHost::Start(flags, credentials, std::move(hooks)));
  if (flags.config.max_nodes > 1) {
    lines_.Say(absl::StrCat("hosts the coordinator of run ", flags.config.run_id, " at ",
                            coordinator_->address().ToString()));
  } else {
    // Beside nobody else there is no need for the network's address.
    lines_.Say(absl::StrCat("run ", flags.config.run_id, ", this node alone"));
  }
  coordinator_thread_ = std::thread([this] { coordinator_->Run(); });
  return absl::OkStatus();
}

void HostedAgreement::RunAgent() {
  AgentHooks hooks;
  hooks.say = [this](absl::string_view text) { lines_.Say(text); };
  hooks.committed = [this](const Record& record) {
    MutexLock lock(mutex_);
    record_ = record;
    changed_.notify_all();
  };
  hooks.stop_training = [this](absl::string_view why, std::function<void()> ended) {
    StopTrainingFor(why, std::move(ended));
  };
  TrialLines trials(agent_->node().devices(), lines_);
  ServiceOutcome outcome = agent_->Run(std::move(hooks), agent_->flags().quiet ? nullptr : &trials);
  MutexLock lock(mutex_);
  // Whoever waits for a record says himself why there is none.
  if (record_.has_value() && !left_ && outcome.exit_code != kExitOk) {
    lines_.Complain(absl::StrCat(
        "no later round will come: ", outcome.text,
        "; the command goes on, and a worker that starts anew from now on gets no share"));
  }
  outcome_ = std::move(outcome);
  changed_.notify_all();
}

void HostedAgreement::StopTrainingFor(absl::string_view why, std::function<void()> ended) {
  // Held throughout: who has taken his callback back is called no more.
  MutexLock lock(stop_mutex_);
  if (stop_ == nullptr) return ended();
  stop_(why, std::move(ended));
}

void HostedAgreement::OnStopTraining(StopTraining stop) {
  MutexLock lock(stop_mutex_);
  stop_ = std::move(stop);
}

std::optional<Record> HostedAgreement::AwaitRecord(int64_t round) {
  MutexLock lock(mutex_);
  while (!outcome_.has_value() && !(record_.has_value() && record_->round > round)) {
    changed_.wait(mutex_);
  }
  // An agent that ends with its first commit is over by then.
  return record_.has_value() && record_->round > round ? record_ : std::nullopt;
}

void HostedAgreement::Leave(const std::string& reason, bool done, int exit_code) {
  {
    MutexLock lock(mutex_);
    left_ = true;
  }
  agent_->Drain(reason, done, exit_code);
}

ServiceOutcome HostedAgreement::Finish(const std::string& reason, bool done, int exit_code) {
  bool over = false;
  {
    MutexLock lock(mutex_);
    over = outcome_.has_value();
  }
  if (!over) Leave(reason, done, exit_code);
  if (agent_thread_.joinable()) agent_thread_.join();
  if (coordinator_ != nullptr) coordinator_->Drain(reason, exit_code);
  if (coordinator_thread_.joinable()) coordinator_thread_.join();
  MutexLock lock(mutex_);
  return *outcome_;
}

ServiceOutcome HostedAgreement::AwaitEnd() {
  if (agent_thread_.joinable()) agent_thread_.join();
  // Others may not have confirmed yet.
  if (coordinator_thread_.joinable()) coordinator_thread_.join();
  MutexLock lock(mutex_);
  return *outcome_;
}

HostedAgreement::~HostedAgreement() {
  if (agent_ != nullptr && agent_thread_.joinable()) {
    Leave("launch has failed", false, kExitInternal);
    agent_thread_.join();
  }
  if (coordinator_ != nullptr) coordinator_->Drain("launch has failed", kExitInternal);
  if (coordinator_thread_.joinable()) coordinator_thread_.join();
}

}  // namespace autobatch
