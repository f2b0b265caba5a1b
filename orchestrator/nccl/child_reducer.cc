#include "orchestrator/nccl/child_reducer.h"

#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/trial/child_process.h"
#include "autobatch/types/json.h"
#include "orchestrator/nccl/reduce_protocol.h"
#include "orchestrator/nccl/reduce_replies.h"

namespace autobatch {
namespace {

// What the child has beyond its own deadline to say that it has passed.
constexpr absl::Duration kReportSlack = absl::Seconds(1);
// From SIGTERM, which it does not handle, to SIGKILL.
constexpr absl::Duration kTermGrace = absl::Milliseconds(200);

std::string HowItEnded(const std::optional<GuardReport>& report) {
  if (!report.has_value()) return "ended, and so did its guard";
  if (report->start_errno != 0) {
    return absl::StrCat("could not be started: ", strerror(static_cast<int>(report->start_errno)));
  }
  const int status = static_cast<int>(report->wait_status);
  return WIFSIGNALED(status) ? absl::StrCat("died of signal ", WTERMSIG(status), " (",
                                            strsignal(WTERMSIG(status)), ")")
                             : absl::StrCat("exited with ", WEXITSTATUS(status), " and no answer");
}

// One child and what it says.
class Conversation {
 public:
  static absl::StatusOr<std::unique_ptr<Conversation>> Start(const ReducePrograms& programs,
                                                             ReduceCommand command,
                                                             SteadyTime deadline) {
    ChildOptions options;
    options.guard = programs.guard;
    options.command = {programs.reduce};
    options.environment = programs.environment;
    options.protocol = true;
    options.grace = kTermGrace;
    options.tail_lines = 6;
    options.tail_bytes = size_t{2} << 10;
    if (command.request.has_value()) {
      // By UUID, and no others: a context on a GPU that takes no part would cost it memory.
      options.environment.emplace_back(
          "CUDA_VISIBLE_DEVICES",
          absl::StrJoin(command.request->devices, ",",
                        [](std::string* out, const ReduceDevice& d) { out->append(d.uuid); }));
    }
    command.nccl_library = programs.nccl_library;
    command.timeout_ms = absl::ToDoubleMilliseconds(Between(Clock::Real().Now(), deadline));
    std::unique_ptr<Conversation> made(new Conversation(programs.abort_grace));
    AB_ASSIGN_OR_RETURN(made->child_, ChildProcess::Start(options));
    made->child_->Send(ToJson(command) + "\n");
    return made;
  }

  // The next reply that is no phase, which is only remembered; absent when the child
  // ended without one. A failure is a Status; so are a deadline and a cancel, on which the child is
  // told to give up.
  absl::StatusOr<std::optional<ReduceReply>> Next(SteadyTime deadline, const CancelSignal& cancel) {
    while (true) {
      AB_ASSIGN_OR_RETURN(std::optional<ReduceReply> reply, replies_.Next());
      if (reply.has_value()) return reply;
      if (ended_) return std::nullopt;
      std::string bytes;
      const ChildEvent event = child_->Wait(Add(deadline, kReportSlack), cancel, bytes);
      replies_.Append(bytes);
      switch (event) {
        case ChildEvent::kOutput:
        case ChildEvent::kClosed:
          break;
        case ChildEvent::kExited:
          ended_ = true;
          break;
        case ChildEvent::kDeadline:
          return absl::DeadlineExceededError(
              absl::StrCat("NCCL waited too long ", Waiting(), ", and no longer answers"));
        case ChildEvent::kCancelled:
          return absl::CancelledError(absl::StrCat("cancelled while waiting ", Waiting()));
      }
    }
  }

  // Lets the child abort or close its communicators, and sees to its end. What it says goes
  // unheard.
  void Finish() {
    if (finished_) return;
    finished_ = true;
    child_->CloseRequests();
    const CancelSignal never;
    const SteadyTime until = Add(Clock::Real().Now(), abort_grace_);
    std::string ignored;
    for (ChildEvent event = ChildEvent::kOutput;
         event == ChildEvent::kOutput || event == ChildEvent::kClosed;) {
      event = child_->Wait(until, never, ignored);
      ignored.clear();
    }
    child_->EndAndWait(ignored);
  }

  ~Conversation() {
    if (child_ != nullptr) Finish();
  }

  // Of a child that ended without what was asked of it.
  absl::Status Unanswered() const {
    return absl::UnavailableError(absl::StrCat("the NCCL child, waiting ", Waiting(), ", ",
                                               HowItEnded(child_->report()), Tail()));
  }
  // `status` with what NCCL wrote meanwhile.
  absl::Status WithTail(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(status.message(), Tail()));
  }

 private:
  explicit Conversation(absl::Duration abort_grace) : abort_grace_(abort_grace) {}

  std::string Waiting() const {
    const std::optional<ReducePhase>& phase = replies_.phase();
    return std::string(phase.has_value() ? PhaseWords(*phase) : "for libraries to load");
  }

  std::string Tail() const {
    const std::string out = child_->StdoutTail();
    const std::string err = child_->StderrTail();
    if (out.empty() && err.empty()) return "";
    return absl::StrCat("; it wrote: ", out, out.empty() || err.empty() ? "" : "\n", err);
  }

  const absl::Duration abort_grace_;
  std::unique_ptr<ChildProcess> child_;
  ReduceReplies replies_;
  bool ended_ = false;
  bool finished_ = false;
};

class ChildIdHolder final : public UniqueIdHolder {
 public:
  ChildIdHolder(std::string id, std::unique_ptr<Conversation> conversation)
      : id_(std::move(id)), conversation_(std::move(conversation)) {}
  const std::string& unique_id() const override { return id_; }

 private:
  const std::string id_;
  const std::unique_ptr<Conversation> conversation_;
};

class ChildReducer final : public Reducer {
 public:
  explicit ChildReducer(ReducePrograms programs) : programs_(std::move(programs)) {}

  absl::StatusOr<std::unique_ptr<UniqueIdHolder>> MakeUniqueId(
      SteadyTime deadline, const CancelSignal& cancel) override {
    AB_ASSIGN_OR_RETURN(auto child,
                        Conversation::Start(programs_, {.task = ReduceTask::kUniqueId}, deadline));
    AB_ASSIGN_OR_RETURN(const std::optional<ReduceReply> reply, child->Next(deadline, cancel));
    if (!reply.has_value() || !reply->unique_id.has_value()) return child->Unanswered();
    return std::make_unique<ChildIdHolder>(*reply->unique_id, std::move(child));
  }

  absl::StatusOr<ReduceAnswer> Reduce(const ReduceRequest& request, SteadyTime deadline,
                                      const CancelSignal& cancel) override {
    AB_RETURN_IF_ERROR(CheckReduceRequest(request));
    AB_ASSIGN_OR_RETURN(
        const auto child,
        Conversation::Start(programs_, {.task = ReduceTask::kReduce, .request = request},
                            deadline));
    absl::StatusOr<std::optional<ReduceReply>> reply = child->Next(deadline, cancel);
    child->Finish();
    if (!reply.ok()) return child->WithTail(reply.status());
    if (!reply->has_value() || !(*reply)->answer.has_value()) return child->Unanswered();
    return *std::move((*reply)->answer);
  }

 private:
  const ReducePrograms programs_;
};

}  // namespace

std::unique_ptr<Reducer> NewChildReducer(ReducePrograms programs) {
  return std::make_unique<ChildReducer>(std::move(programs));
}

}  // namespace autobatch
