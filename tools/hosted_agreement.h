#ifndef TOOLS_HOSTED_AGREEMENT_H_
#define TOOLS_HOSTED_AGREEMENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/mutex.h"
#include "orchestrator/launch/hosted_run.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/service_outcome.h"
#include "tools/agent_host.h"
#include "tools/coordinator_host.h"
#include "tools/progress_lines.h"

namespace autobatch {

// This node's agent, and the run's coordinator where it is this node's to host, on threads of their
// own beside the training that they serve.
//
//   AB_ASSIGN_OR_RETURN(auto agreement, HostedAgreement::Start(run, lines, exit_code));
//   while (auto record = agreement->AwaitRecord(last_round)) { ...train on it... }
//   ServiceOutcome outcome = agreement->Finish("training has ended", true, 0);
class HostedAgreement {
 public:
  // Training on an earlier record is to end; `ended` is to be called once it has. On the agent's
  // thread.
  using StopTraining = std::function<void(absl::string_view why, std::function<void()> ended)>;

  // `exit_code` is the program's where it fails. `lines` outlives it.
  static absl::StatusOr<std::unique_ptr<HostedAgreement>> Start(HostedRun run, ProgressLines& lines,
                                                                int& exit_code);
  ~HostedAgreement();
  HostedAgreement(const HostedAgreement&) = delete;
  HostedAgreement& operator=(const HostedAgreement&) = delete;

  // The committed record, once its round is above `round`; nothing when the agent is over.
  std::optional<Record> AwaitRecord(int64_t round);

  // Who ends training when a later round begins; empty: nothing trains, and nobody is called once
  // this has returned.
  void OnStopTraining(StopTraining stop);

  // The agent leaves, with this exit code. From any thread.
  void Leave(const std::string& reason, bool done, int exit_code);

  // Leaves (if it has not), and waits until nothing of it is left.
  ServiceOutcome Finish(const std::string& reason, bool done, int exit_code);

  // Waits until the agent is over by itself, as one that ends with its first commit, and the
  // coordinator too.
  ServiceOutcome AwaitEnd();

  const AgentFlags& flags() const { return agent_->flags(); }
  int64_t devices() const { return static_cast<int64_t>(agent_->node().devices().size()); }
  // The seal of the run's records.
  const DigestFunction& digest() const { return digest_; }

 private:
  explicit HostedAgreement(ProgressLines& lines) : lines_(lines) {}
  // The run's credentials, and its coordinator where this node hosts it.
  absl::StatusOr<Credentials> Prepare(HostedRun& run);
  absl::Status StartCoordinator(const CoordinatorFlags& flags, const Credentials& credentials);
  void RunAgent();
  void StopTrainingFor(absl::string_view why, std::function<void()> ended);

  ProgressLines& lines_;
  DigestFunction digest_;
  std::unique_ptr<CoordinatorHost> coordinator_;
  std::unique_ptr<AgentHost> agent_;
  std::thread coordinator_thread_;
  std::thread agent_thread_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::optional<Record> record_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServiceOutcome> outcome_ ABSL_GUARDED_BY(mutex_);
  bool left_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex stop_mutex_;
  StopTraining stop_ ABSL_GUARDED_BY(stop_mutex_);
};

}  // namespace autobatch

#endif  // TOOLS_HOSTED_AGREEMENT_H_
