#include "tests/sim/agent_host.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace autobatch::sim {
namespace {

constexpr size_t kEchoes = 64;

}  // namespace

void AgentHost::Start() {
  process_ = std::make_shared<Process>(parts_.time);
  finished_.reset();
  alarm_.Reset();
  end_.reset();
  prepared_digest_.clear();
  committed_round_ = 0;
  AgentConfig config = setup_.config;
  incarnation_ = absl::StrCat(name(), "-", setup_.host, "-", ++starts_);
  config.hello.incarnation = incarnation_;
  parts_.log(name(), "starts");
  core_ = std::make_unique<AgentCore>(std::move(config), setup_.check_record, parts_.time.Now());
  const std::shared_ptr<Process> process = process_;
  for (AgentAction& action : core_->Start(parts_.time.Now())) {
    if (process->dead()) return;
    std::visit([this](auto& body) { Do(body); }, action);
  }
  Handle(agent::Woke{});
}

void AgentHost::Kill() {
  if (!running()) return;
  parts_.log(name(), "is killed");
  process_->Kill();
  if (end_ != nullptr) end_->Cut();
  end_.reset();
  EndTraining();
}

void AgentHost::Drain(bool done) {
  process_->Post([this, done] { Handle(agent::Drain{.reason = "SIGTERM", .done = done}); });
}

void AgentHost::Handle(const AgentEvent& event) {
  if (core_ == nullptr || !running() || finished_.has_value()) return;
  const std::shared_ptr<Process> process = process_;
  for (AgentAction& action : core_->Handle(event, parts_.time.Now())) {
    if (process->dead()) return;
    std::visit([this](auto& body) { Do(body); }, action);
  }
  if (process->dead() || finished_.has_value()) return;
  MaybeTrain();
  alarm_.Set(*process, core_->NextWake(), [this] { Handle(agent::Woke{}); });
}

void AgentHost::Do(const agent::Connect& action) {
  if (end_ != nullptr) parts_.ledger.Violate(name() + " connects while it is connected");
  const int64_t mine = ++connects_;
  const std::shared_ptr<Process> process = process_;
  const Resolved resolved = setup_.resolve ? setup_.resolve() : Resolved();
  process->PostAfter(action.delay + resolved.takes, [this, process, mine, resolved] {
    if (mine != connects_) return;
    if (!resolved.status.ok()) return Handle(agent::ConnectFailed{resolved.status});
    parts_.network.Connect(setup_.host, setup_.secret,
                           [this, process, mine](absl::StatusOr<std::shared_ptr<Endpoint>> end) {
                             if (process->dead()) {
                               if (end.ok()) (*end)->Cut();
                               return;
                             }
                             process->Post([this, mine, end] {
                               if (mine != connects_) {
                                 if (end.ok()) (*end)->Close();
                               } else if (end.ok()) {
                                 UseConnection(*end);
                               } else {
                                 Handle(agent::ConnectFailed{end.status()});
                               }
                             });
                           });
  });
}

void AgentHost::UseConnection(const std::shared_ptr<Endpoint>& end) {
  end_ = end;
  stream_ = Stream();
  // Nothing of one connection can be said again on another: TLS lets no replay through.
  sent_.clear();
  const std::shared_ptr<Process> process = process_;
  const std::weak_ptr<Endpoint> mine = end;
  end->on_bytes = [this, process, mine](absl::string_view bytes) {
    process->Post([this, mine, copy = std::string(bytes)] {
      if (end_ == nullptr || end_ != mine.lock()) return;
      end_->Took(copy.size());
      std::vector<absl::StatusOr<Message>> messages;
      stream_.Feed(
          copy, [&](absl::StatusOr<Message> message) { messages.push_back(std::move(message)); });
      for (const absl::StatusOr<Message>& message : messages) {
        if (end_ == nullptr || end_ != mine.lock()) break;
        Handle(agent::Received{message});
      }
    });
  };
  end->on_closed = [this, process, mine](const std::string& why) {
    process->Post([this, mine, why] {
      if (end_ == nullptr || end_ != mine.lock()) return;
      end_.reset();
      Handle(agent::Disconnected{why});
    });
  };
  Handle(agent::Connected{});
}

void AgentHost::Do(const agent::Disconnect&) {
  ++connects_;
  if (end_ != nullptr) end_->Close();
  end_.reset();
}

void AgentHost::Do(const agent::Send& action) {
  if (on_send) on_send();
  if (!running() || end_ == nullptr) return;
  Stream().Feed(*action.frame, [this](const absl::StatusOr<Message>& message) {
    if (message.ok() && std::holds_alternative<Report>(*message)) Note(std::get<Report>(*message));
  });
  end_->Send(*action.frame);
  if (!sent_.empty() && Chance(parts_.random, setup_.echo_percent)) {
    const auto old =
        static_cast<size_t>(Pick(parts_.random, 0, static_cast<int64_t>(sent_.size()) - 1));
    end_->Send(*sent_[old]);
  }
  sent_.push_back(action.frame);
  if (sent_.size() > kEchoes) sent_.pop_front();
}

void AgentHost::Note(const Report& report) {
  // A stranger's are not to be believed.
  if (setup_.secret != parts_.network.secret) return;
  parts_.ledger.OnReport(name(), report.round, report.devices);
}

void AgentHost::Do(const agent::Probe& action) {
  const absl::Duration most = probes_++ == 0 ? setup_.first_probe : setup_.cached_probe;
  process_->PostAfter(PickDuration(parts_.random, most / 10, most), [this, round = action.round] {
    agent::Probed probed{.summary = "simulated"};
    batches_.clear();
    for (const AnnouncedDevice& device : setup_.config.hello.devices) {
      DeviceOutcome outcome{.uuid = device.uuid, .name = device.name, .simulated = true};
      outcome.batch = setup_.batch(device.uuid, round);
      batches_[device.uuid] = outcome.batch;
      outcome.status = outcome.batch > 0 ? ResultStatus::kConfirmed : ResultStatus::kFailed;
      if (outcome.batch == 0) {
        outcome.failure = FailureKind::kOutOfMemory;
        outcome.message = "out of memory at batch 1";
      }
      probed.devices.push_back(std::move(outcome));
    }
    Handle(probed);
  });
}

void AgentHost::Do(const agent::MakeReduceId& action) {
  process_->PostAfter(absl::Milliseconds(5), [this, attempt = action.attempt] {
    std::string id;
    for (int i = 0; i < 16; ++i) id += "0123456789abcdef"[Pick(parts_.random, 0, 15)];
    Handle(agent::ReduceIdMade{attempt, id});
  });
}

void AgentHost::Do(const agent::StartReduce& action) {
  const int64_t mine = ++reduces_;
  if (setup_.reduce_hangs) return;
  int64_t ranks = 0;
  int64_t minimum = 0;
  for (const auto& [uuid, batch] : batches_) {
    if (batch == 0) continue;
    minimum = ranks++ == 0 ? batch : std::min(minimum, batch);
  }
  const std::shared_ptr<Process> process = process_;
  parts_.reductions.Join(
      action.unique_id, ranks, action.world, minimum,
      [this, process, mine, attempt = action.attempt](int64_t answer) {
        process->PostAfter(absl::Milliseconds(3), [this, mine, attempt, answer] {
          if (mine != reduces_) return;
          const int64_t told = setup_.corrupt ? setup_.corrupt(answer) : answer;
          Handle(agent::Reduced{
              .attempt = attempt, .minimum = told, .communicator_bytes = int64_t{100} << 20});
        });
      });
}

void AgentHost::Do(const agent::EndReduce&) { ++reduces_; }

absl::Duration AgentHost::DiskTime() {
  return PickDuration(parts_.random, absl::Microseconds(200), absl::Milliseconds(20));
}

void AgentHost::Do(const agent::WritePrepared& action) {
  prepared_digest_ = action.digest;
  committed_round_ = 0;
  if (setup_.sabotage == Sabotage::kCommit) StartTraining(action.round, action.digest);
  process_->PostAfter(DiskTime(), [this, round = action.round] {
    Handle(agent::PreparedWritten{round, disk_status_});
  });
}

void AgentHost::Do(const agent::WriteCommitted& action) {
  if (action.digest != prepared_digest_) {
    parts_.ledger.Violate(
        absl::StrCat(name(), " commits a record of round ", action.round, " that it has not got"));
  }
  process_->PostAfter(DiskTime(), [this, action] {
    // Withdrawn meanwhile.
    if (prepared_digest_ != action.digest) return;
    if (disk_status_.ok() && setup_.sabotage != Sabotage::kCommit) committed_round_ = action.round;
    Handle(agent::CommittedWritten{action.round, disk_status_});
  });
}

void AgentHost::Do(const agent::WithdrawRecord&) {
  prepared_digest_.clear();
  committed_round_ = 0;
}

void AgentHost::Do(const agent::StopTraining&) { EndTraining(); }

void AgentHost::Do(const agent::Say& action) {
  parts_.log(name(), action.text);
  said_.push_back(action.text);
}

void AgentHost::Do(const agent::Finished& action) {
  parts_.log(name(), absl::StrCat("ends with ", action.exit_code, ": ", action.text));
  finished_ = action;
  if (end_ != nullptr) end_->Close();
  end_.reset();
  process_->Kill();
  EndTraining();
}

void AgentHost::StartTraining(int64_t round, const std::string& digest) {
  parts_.log(name(), absl::StrCat("trains on round ", round));
  parts_.ledger.OnTrainingStarts(name(), incarnation_, round, digest);
  training_round_ = round;
  training_digest_ = digest;
}

void AgentHost::MaybeTrain() {
  if (committed_round_ == 0 || training_round_ != 0) return;
  if (setup_.sabotage != Sabotage::kLease && !core_->MayStart(parts_.time.Now())) return;
  StartTraining(committed_round_, prepared_digest_);
}

void AgentHost::EndTraining() {
  if (training_round_ != 0) parts_.ledger.OnTrainingEnds(name());
  training_round_ = 0;
  training_digest_.clear();
}

}  // namespace autobatch::sim
