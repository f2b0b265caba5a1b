#include "autobatch/simcuda/nccl_communicator.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>

#include "autobatch/simcuda/library_memory.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {

Communicator::Communicator(std::function<std::optional<Seat>()> find_seat, bool blocking)
    : find_seat_(std::move(find_seat)),
      blocking_(blocking),
      device_(CurrentOrdinal()),
      thread_([this] { Work(); }) {}

Communicator::~Communicator() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Communicator::Abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = closing_ = true;
  if (board_ != nullptr) board_->Stop();
  changed_.notify_all();
}

void Communicator::Fail(ncclResult_t error, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (last_error_.empty()) {
    last_error_ = why;
    std::fprintf(stderr, "simcuda: NCCL: %s\n", why.c_str());
    state_ = error;
  }
  changed_.notify_all();
}

std::string Communicator::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

ncclResult_t Communicator::WaitUntilReady() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ != ncclInProgress || aborted_; });
  return state_;
}

ncclResult_t Communicator::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (entries_.empty() && !busy_) || aborted_; });
  return state_;
}

ncclRedOp_t Communicator::AddFactor(double factor) {
  const std::lock_guard lock(mutex_);
  factors_.push_back(factor);
  return static_cast<ncclRedOp_t>(static_cast<int>(ncclNumOps) + static_cast<int>(factors_.size()) -
                                  1);
}

std::optional<double> Communicator::FactorOf(ncclRedOp_t operation) const {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<size_t>(operation) - static_cast<size_t>(ncclNumOps);
  if (operation < ncclNumOps || place >= factors_.size()) return std::nullopt;
  return factors_[place];
}

Pending Communicator::Enqueue(Task task, const Pending& after) {
  std::unique_lock lock(mutex_);
  if (seat_.ranks == 1 && state_ == ncclSuccess && !busy_ && entries_.empty() &&
      !IsPending(after)) {
    // Nobody to wait for. It is this thread's turn until it is done.
    busy_ = true;
    lock.unlock();
    task(*board_);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
    return nullptr;
  }
  auto end = std::make_shared<Completion>();
  if (aborted_) {
    end->Finish();
  } else {
    entries_.push_back({.task = std::move(task), .after = after, .end = end});
    changed_.notify_all();
  }
  return end;
}

bool Communicator::TakeSeat() {
  const std::optional<Seat> seat = find_seat_();
  if (!seat) {
    Fail(ncclRemoteError, "the communicator that this one comes from is no more");
    return false;
  }
  seat_ = *seat;
  std::unique_ptr<Board> board = Board::Join(seat_.address, seat_.ranks, seat_.rank);
  if (board == nullptr) {
    Fail(ncclRemoteError, "rank " + std::to_string(seat_.rank) + " of " +
                              std::to_string(seat_.ranks) +
                              " cannot join: the process that made the unique id is gone, or "
                              "the others mean another communicator");
    return false;
  }
  board->on_dead_peer = [this] {
    Fail(ncclRemoteError, "a rank's process died while rank " + std::to_string(seat_.rank) +
                              " of " + std::to_string(seat_.ranks) + " waited for it");
  };
  const std::lock_guard lock(mutex_);
  board_ = std::move(board);
  if (aborted_) board_->Stop();
  return true;
}

void Communicator::RunEntries() {
  std::unique_lock lock(mutex_);
  for (;;) {
    busy_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !entries_.empty() || closing_; });
    if (entries_.empty()) return;
    // A thread that does its own work is done soon.
    changed_.wait(lock, [this] { return !busy_; });
    busy_ = true;
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    const bool skip = aborted_;
    lock.unlock();
    if (!skip) {
      if (entry.after != nullptr) entry.after->Wait();
      entry.task(*board_);
    }
    entry.end->Finish();
    lock.lock();
  }
}

void Communicator::Work() {
  pthread_setname_np(pthread_self(), "simcuda-nccl");
  SetCurrentOrdinal(device_);
  LibraryMemory memory;
  const bool seated = TakeSeat();
  if (seated) {
    if (!memory.Take(static_cast<double>(Node::Get().model().Communicator(seat_.ranks)))) {
      Fail(ncclUnhandledCudaError, "out of memory for a communicator");
    } else if (board_->WaitForAll()) {
      const std::lock_guard lock(mutex_);
      if (state_ == ncclInProgress) state_ = ncclSuccess;
    }
    // All have it open now, or nobody will.
    if (seat_.rank == 0) Board::Forget(seat_.address);
  }
  RunEntries();
}

}  // namespace autobatch::simcuda
