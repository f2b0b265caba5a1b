#include "orchestrator/service/agent_service.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/core/record_maker.h"
#include "orchestrator/service/worker_share.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

WorkerReply Refusal(WorkerVerdict verdict, const absl::Status& status) {
  return {.verdict = verdict, .message = std::string(status.message())};
}

WorkerVerdict VerdictOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return WorkerVerdict::kWorldSize;
    case absl::StatusCode::kFailedPrecondition:
      return WorkerVerdict::kUnknownDevice;
    default:
      return WorkerVerdict::kBadRequest;
  }
}

}  // namespace

struct AgentService::Link {
  std::unique_ptr<Connection> connection;
};

AgentService::AgentService(AgentServiceOptions options, AgentParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      record_file_(options_.record_path),
      tasks_(parts_.io.get_executor()),
      files_(tasks_.executor(), parts_.file_pool),
      work_(tasks_.executor(), parts_.work_pool),
      reduction_(parts_.reducer, work_, parts_.timers, options_.reduce_timeout),
      core_(options_.config, MakeRecordChecker(options_.digest), parts_.timers.Now()),
      wake_(tasks_, parts_.timers, [this] { Handle(agent::Woke{}); }),
      changed_(tasks_.executor()) {}

AgentService::~AgentService() = default;

absl::Status AgentService::Start() {
  AB_RETURN_IF_ERROR(record_file_.Withdraw());
  if (!options_.workers.has_value()) return absl::OkStatus();
  AB_ASSIGN_OR_RETURN(workers_, WorkerServer::Listen(parts_.io, *options_.workers,
                                                     [this](const WorkerRequest& request) {
                                                       return AnswerTo(request);
                                                     }));
  return absl::OkStatus();
}

asio::awaitable<ServiceOutcome> AgentService::Run() {
  Take(core_.Start(parts_.timers.Now()));
  Work();
  while (!outcome_.has_value()) {
    changed_.expires_at(SteadyTime::max());
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  ++attempt_;
  parts_.prober.Cancel("the agent was ended");
  reduction_.End();
  if (workers_ != nullptr) co_await workers_->Stop();
  if (link_ != nullptr) {
    agent::Disconnect last{.why = outcome_->text};
    Do(last);
  }
  while (finishing_ > 0) {
    changed_.expires_at(SteadyTime::max());
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  tasks_.Cancel();
  co_await tasks_.Join();
  co_await work_.Join();
  co_await files_.Join();
  co_return *outcome_;
}

void AgentService::Drain(std::string reason, bool done, int exit_code) {
  Handle(agent::Drain{.reason = std::move(reason), .done = done, .exit_code = exit_code});
}

void AgentService::Handle(AgentEvent event) {
  events_.push_back(std::move(event));
  Work();
}

void AgentService::Work() {
  if (working_) return;
  working_ = true;
  while (!outcome_.has_value()) {
    if (!stopping_ && !actions_.empty()) {
      AgentAction action = std::move(actions_.front());
      actions_.pop_front();
      Perform(action);
    } else if (!events_.empty()) {
      const AgentEvent event = std::move(events_.front());
      events_.pop_front();
      Take(core_.Handle(event, parts_.timers.Now()));
    } else {
      break;
    }
  }
  working_ = false;
  CheckLease();
  wake_.Arm(outcome_.has_value() ? std::nullopt : core_.NextWake());
}

// While training is being ended, which may take longer than this agent may be silent, what is to be
// sent still is, as long as nothing else that is to be sent waits.
void AgentService::Take(std::vector<AgentAction> actions) {
  for (AgentAction& action : actions) {
    const auto sends = [](const AgentAction& other) {
      return std::holds_alternative<agent::Send>(other);
    };
    if (stopping_ && sends(action) && std::none_of(actions_.begin(), actions_.end(), sends)) {
      Perform(action);
    } else {
      actions_.push_back(std::move(action));
    }
  }
}

void AgentService::Perform(AgentAction& action) {
  std::visit([this](auto& wish) { Do(wish); }, action);
}

void AgentService::Do(agent::Connect& connect) {
  tasks_.Spawn("connect", ConnectAfter(++attempt_, connect.delay));
}

asio::awaitable<void> AgentService::ConnectAfter(int64_t attempt, absl::Duration delay) {
  if (delay > absl::ZeroDuration()) {
    co_await parts_.timers.WaitUntil(Add(parts_.timers.Now(), delay));
  }
  if (attempt != attempt_) co_return;
  absl::StatusOr<std::unique_ptr<Connection>> connection = co_await parts_.connector.Connect(
      options_.coordinator, Add(parts_.timers.Now(), options_.connect_timeout));
  if (attempt != attempt_) co_return;  // Called off.
  if (!connection.ok()) {
    Handle(agent::ConnectFailed{.status = connection.status()});
    co_return;
  }
  const auto link = std::make_shared<Link>(*std::move(connection));
  link_ = link;
  // Before it is read, so that the hello leaves together with the end of the handshake.
  Handle(agent::Connected{});
  tasks_.Spawn("read", ReadAll(link));
}

asio::awaitable<void> AgentService::ReadAll(std::shared_ptr<Link> link) {
  while (Take(link, co_await link->connection->Receive())) {
  }
}

// Apart from the coroutine, so that what it needs for a moment does not stay in memory as long as
// the connection. False: nothing more is read.
bool AgentService::Take(const std::shared_ptr<Link>& link, const absl::StatusOr<Frame>& frame) {
  if (link != link_) return false;  // The core has parted from it.
  if (!frame.ok()) {
    link_.reset();
    Handle(agent::Disconnected{.why = std::string(frame.status().message())});
    return false;
  }
  absl::StatusOr<Message> message = DecodeMessage(*frame);
  // From now on records may come.
  if (message.ok() && std::holds_alternative<Welcome>(*message)) link->connection->Admit();
  Handle(agent::Received{.message = std::move(message)});
  return true;
}

void AgentService::Do(agent::Disconnect& disconnect) {
  ++attempt_;
  if (link_ == nullptr) return;
  ++finishing_;
  tasks_.Spawn("finish", Finish(std::move(link_)));
  link_.reset();
}

asio::awaitable<void> AgentService::Finish(std::shared_ptr<Link> link) {
  (co_await link->connection->Finish(Add(parts_.timers.Now(), options_.goodbye))).IgnoreError();
  --finishing_;
  changed_.expires_at(SteadyTime::min());
}

void AgentService::Do(agent::Send& send) {
  // Where it fails the connection is closed, and its reader says so.
  if (link_ != nullptr) link_->connection->Send(std::move(send.frame)).IgnoreError();
}

void AgentService::Do(agent::Probe& probe) {
  work_.Run(
      [&prober = parts_.prober, bytes = probe.communicator_bytes] { return prober.Probe(bytes); },
      [this](ProbeAnswer answer) {
        report_ = answer.devices;
        Handle(agent::Probed{.devices = std::move(answer.devices),
                             .communicator_bytes = answer.communicator_bytes,
                             .summary = std::move(answer.summary)});
      });
}

void AgentService::Do(agent::MakeReduceId& make) {
  reduction_.MakeId(make, [this](agent::ReduceIdMade made) { Handle(std::move(made)); });
}

void AgentService::Do(agent::StartReduce& start) {
  reduction_.Start(start, report_, [this](agent::Reduced reduced) { Handle(std::move(reduced)); });
}

void AgentService::Do(agent::EndReduce&) { reduction_.End(); }

void AgentService::Do(agent::WritePrepared& write) {
  ForgetRecord();
  prepared_ = write.content;
  files_.Run([file = record_file_, text = write.record] { return file.Prepare(*text); },
             [this, round = write.round](absl::Status status) {
               Handle(agent::PreparedWritten{.round = round, .status = std::move(status)});
             });
}

void AgentService::Do(agent::WriteCommitted& write) {
  files_.Run([file = record_file_] { return file.Commit(); },
             [this, round = write.round, generation = generation_,
              record = prepared_](absl::Status status) {
               if (status.ok() && generation == generation_) {
                 committed_ = record;
                 announced_ = false;
               }
               Handle(agent::CommittedWritten{.round = round, .status = std::move(status)});
             });
}

void AgentService::Do(agent::WithdrawRecord& withdraw) {
  ForgetRecord();
  prepared_.reset();
  files_.Run([file = record_file_] { return file.Withdraw(); },
             [this](const absl::Status& status) {
               if (!status.ok()) Say(status.message());
             });
}

// Nobody gets a share of it any more; the file follows.
void AgentService::ForgetRecord() {
  ++generation_;
  committed_.reset();
  startable_ = false;
}

// Those who wait are answered as soon as there is a record that may be started on: after a commit,
// and when the coordinator is heard of again.
void AgentService::CheckLease() {
  if (startable_ || committed_ == nullptr || !core_.MayStart(parts_.timers.Now())) return;
  startable_ = true;
  if (workers_ != nullptr) workers_->RecordChanged();
  if (!announced_ && options_.hooks.committed) options_.hooks.committed(*committed_);
  announced_ = true;
}

void AgentService::Do(agent::StopTraining& stop) {
  if (!options_.hooks.stop_training) return;
  stopping_ = true;
  options_.hooks.stop_training(stop.why, [this] {
    stopping_ = false;
    Work();
  });
}

void AgentService::Do(agent::Say& say) { Say(say.text); }

void AgentService::Say(absl::string_view text) const {
  if (options_.hooks.say) options_.hooks.say(text);
}

void AgentService::Do(agent::Finished& finished) {
  outcome_ = {.exit_code = finished.exit_code, .text = std::move(finished.text)};
  changed_.expires_at(SteadyTime::min());
}

std::optional<WorkerReply> AgentService::AnswerTo(const WorkerRequest& request) {
  if (const absl::Status valid = ValidateRequest(request); !valid.ok()) {
    return Refusal(WorkerVerdict::kBadRequest, valid);
  }
  startable_ = committed_ != nullptr && core_.MayStart(parts_.timers.Now());
  if (!startable_) {
    workers_->set_wanting(committed_ != nullptr
                              ? absl::StrCat("the record of round ", committed_->round,
                                             " is there, but it may be out of date: nothing was "
                                             "heard of the coordinator")
                              : "no record was committed");
    return std::nullopt;
  }
  std::vector<std::string> devices;
  for (const AnnouncedDevice& device : options_.config.hello.devices) {
    devices.push_back(device.uuid);
  }
  absl::StatusOr<WorkerShare> share = ShareFor(*committed_, record_file_.path(), devices, request);
  if (!share.ok()) return Refusal(VerdictOf(share.status()), share.status());
  WorkerReply reply{.verdict = WorkerVerdict::kGranted};
  reply.variables = VariablesOf(*share);
  reply.share = *std::move(share);
  return reply;
}

}  // namespace autobatch
