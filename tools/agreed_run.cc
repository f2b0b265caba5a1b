#include "tools/agreed_run.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/mutex.h"
#include "autobatch/base/random_word.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/launch/hosted_run.h"
#include "orchestrator/launch/share_output.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/launch/supervised_child.h"
#include "orchestrator/launch/worker_values.h"
#include "orchestrator/plan/plan_request.h"
#include "tools/find_program.h"
#include "tools/hosted_agreement.h"
#include "tools/progress_lines.h"
#include "tools/training.h"

namespace autobatch {
namespace {

class AgreedRun {
 public:
  AgreedRun(const LaunchLine& line, const WorldCommand& world, const Environment& environment,
            SignalRelay& signals)
      : line_(line), world_(world), environment_(environment), signals_(signals) {}

  int Run(const LauncherFacts& launcher) {
    // The secret's is ours, and its number may soon be another's.
    if (line_.secret_descriptor.has_value()) {
      std::erase(descriptors_, static_cast<int>(*line_.secret_descriptor));
    }
    const absl::StatusOr<HostedRun> run = PlanHostedRun(line_, launcher, world_, RandomWord());
    if (!run.ok()) return Complain(run.status(), kExitUsage);
    // What can be told now is not to be told after minutes of probing, nor to the other nodes.
    const absl::Status real =
        CheckRealDevices(absl::StartsWith(run->agent.probe.devices, "sim:"), line_.allow_simulated);
    if (!real.ok()) return Complain(real);
    if (!line_.command.empty() && FindProgram(line_.command[0]).empty()) {
      return Complain(absl::NotFoundError(absl::StrCat("cannot start '", line_.command[0],
                                                       "': there is no such program")),
                      kExitCannotRun);
    }
    int exit_code = kExitInternal;
    auto agreement = HostedAgreement::Start(*run, lines_, exit_code);
    // A folder whose name nobody knows is of no use to anybody.
    const absl::Cleanup remove_folder = [&] {
      if (!run->own_secret || !line_.run_id.empty() || !launcher.run_id.empty()) return;
      std::error_code ignored;
      std::filesystem::remove_all(run->agent.state_directory, ignored);
    };
    if (!agreement.ok()) return Complain(agreement.status(), exit_code);
    agreement_ = *std::move(agreement);
    plan_ = run->plan;
    nodes_ = run->nodes;
    ranks_a_node_ = run->launcher.local_world_size;
    return Agreed();
  }

 private:
  int Agreed() {
    const std::optional<Record> record = AwaitRecord(0);
    if (!record.has_value()) return NotAgreed();
    const absl::Status real = CheckRealDevices(record->simulated, line_.allow_simulated);
    if (!real.ok()) return Refuse(real);
    if (line_.format.has_value() || !line_.publish.empty()) return Write(*record);
    return Train(*record);
  }

  // A signal meanwhile makes the agent leave, and there is no record then; one that comes later
  // waits for the command.
  std::optional<Record> AwaitRecord(int64_t round) {
    signals_.SetHandler([this](int signal) {
      if (signals_.ending() == 0) return;
      agreement_->Leave(absl::StrCat("launch was ended by signal ", signal), false,
                        kExitSignal + signal);
    });
    std::optional<Record> record = agreement_->AwaitRecord(round);
    signals_.SetHandler(nullptr);
    return signals_.ending() == 0 ? record : std::nullopt;
  }

  // The record's own command, and once more for every later one where that is asked for.
  int Train(Record record) {
    int exit_code = kExitOk;
    while (true) {
      const absl::StatusOr<TrainingValues> values =
          ValuesFor(world_, record, agreement_->flags().record_path(), agreement_->devices());
      if (!values.ok()) return Refuse(values.status());
      ChildCommand command = CommandWith(world_.command, *values);
      command.base = environment_;
      command.descriptors = descriptors_;
      command.environment.emplace_back("AUTOBATCH_SOCKET", agreement_->flags().workers.path);
      Training training(line_.grace, signals_);
      const absl::Status started = training.Start(command);
      if (!started.ok()) return Refuse(started, kExitCannotRun);
      std::optional<std::function<void()>> stopped;
      exit_code = TrainUntilStopped(training, stopped);
      if (!stopped.has_value()) break;
      (*stopped)();
      if (PolicyOf() == WorldChange::kStop) return Finish("training was stopped", kExitPeerLost);
      const std::optional<Record> next = AwaitRecord(record.round);
      if (!next.has_value()) return NotAgreed();
      record = *next;
    }
    return Finish(absl::StrCat("training has ended with code ", exit_code), exit_code);
  }

  // Waits for the command, which a later round may end by policy; `stopped` is to be called then.
  int TrainUntilStopped(Training& training, std::optional<std::function<void()>>& stopped) {
    Mutex mutex;
    std::optional<std::function<void()>> asked;
    agreement_->OnStopTraining([&](absl::string_view why, std::function<void()> ended) {
      if (PolicyOf() == WorldChange::kKeep) {
        lines_.Say(absl::StrCat("a later round: ", why,
                                "; the command is kept, its workers ask again when they restart"));
        return ended();
      }
      lines_.Say(absl::StrCat("a later round ends the command: ", why));
      MutexLock lock(mutex);
      asked = std::move(ended);
      training.End();
    });
    const int exit_code = training.Wait();
    agreement_->OnStopTraining(nullptr);
    MutexLock lock(mutex);
    stopped = std::move(asked);
    return exit_code;
  }

  WorldChange PolicyOf() const {
    return line_.when_world_changes.value_or(world_.elastic ? WorldChange::kKeep
                                                            : WorldChange::kStop);
  }

  int Write(const Record& record) {
    const ServiceOutcome outcome = agreement_->AwaitEnd();
    if (outcome.exit_code != kExitOk) return Complain(outcome);
    const std::string path = agreement_->flags().record_path();
    const absl::StatusOr<TrainingValues> values =
        ValuesFor(world_, record, path, agreement_->devices());
    if (!values.ok()) return Complain(values.status());
    return WriteOutput(line_, OutputOf(record, path, *values));
  }

  int NotAgreed() {
    const int signal = signals_.ending();
    const ServiceOutcome outcome = agreement_->Finish(
        "nothing was started", false, signal == 0 ? kExitNoAgreement : kExitSignal + signal);
    const bool fallback =
        line_.fallback_batch.has_value() && signals_.ending() == 0 &&
        (outcome.exit_code == kExitNoAgreement || outcome.exit_code == kExitPeerLost);
    return fallback ? FallBack(outcome) : Complain(outcome);
  }

  // No agent serves anybody any more: workers find the record by AUTOBATCH_RECORD.
  int FallBack(const ServiceOutcome& why) {
    const std::string path = agreement_->flags().record_path() + ".fallback.json";
    const int64_t ranks =
        world_.processes.value_or(ranks_a_node_.value_or(agreement_->devices()) * nodes_);
    // Whatever the world will be.
    if (!plan_.min_world_size.has_value()) plan_.min_world_size = 1;
    const absl::StatusOr<Record> record =
        MakeFallbackRecord({.run_id = agreement_->flags().config.hello.run_id,
                            .batch = *line_.fallback_batch,
                            .world_size = ranks,
                            .plan = plan_},
                           agreement_->digest());
    if (!record.ok()) return Complain(record.status());
    const absl::Status written = WriteFileAtomically(path, RecordText(*record));
    if (!written.ok()) return Complain(written, kExitInternal);
    Shout(FallbackWarning(*line_.fallback_batch, why.text));
    const absl::StatusOr<TrainingValues> values =
        ValuesFor(world_, *record, path, agreement_->devices());
    if (!values.ok()) return Complain(values.status());
    ChildCommand command = CommandWith(world_.command, *values);
    command.base = environment_;
    command.descriptors = descriptors_;
    return RunCommand(command, line_.grace, signals_);
  }

  int Finish(const std::string& reason, int exit_code) {
    agreement_->Finish(reason, exit_code == kExitOk, exit_code);
    return exit_code;
  }

  int Refuse(const absl::Status& status, int exit_code) {
    Finish("launch refuses to start", exit_code);
    return autobatch::Complain(status, exit_code);
  }
  int Refuse(const absl::Status& status) { return Refuse(status, LaunchExitCode(status)); }

  int Complain(const absl::Status& status) { return autobatch::Complain(status); }
  int Complain(const absl::Status& status, int code) { return autobatch::Complain(status, code); }
  int Complain(const ServiceOutcome& outcome) {
    lines_.Complain(outcome.text);
    return outcome.exit_code;
  }

  const LaunchLine& line_;
  const WorldCommand& world_;
  const Environment& environment_;
  SignalRelay& signals_;
  // What the command inherits: none of the sockets that are opened for the agreement.
  std::vector<int> descriptors_ = OpenDescriptors();
  ProgressLines lines_{"launch", line_.quiet};
  std::unique_ptr<HostedAgreement> agreement_;
  PlanRequest plan_;
  int64_t nodes_ = 1;
  std::optional<int64_t> ranks_a_node_;
};

}  // namespace

int RunAgreed(const LaunchLine& line, const WorldCommand& world, const Environment& environment,
              const LauncherFacts& launcher, SignalRelay& signals) {
  return AgreedRun(line, world, environment, signals).Run(launcher);
}

}  // namespace autobatch
