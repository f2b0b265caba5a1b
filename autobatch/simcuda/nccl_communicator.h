#ifndef AUTOBATCH_SIMCUDA_NCCL_COMMUNICATOR_H_
#define AUTOBATCH_SIMCUDA_NCCL_COMMUNICATOR_H_

#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "autobatch/simcuda/completion.h"
#include "autobatch/simcuda/nccl_board.h"

namespace autobatch::simcuda {

// One rank of a communicator, with a thread of its own that does its work in order, so that the
// caller goes on as with a real device. Thread-safe.
class Communicator {
 public:
  // Which rank of which communicator.
  struct Seat {
    BoardAddress address;
    int ranks = 0;
    int rank = 0;
  };
  // False: stopped.
  using Task = std::function<bool(Board&)>;

  // On the calling thread's device. `find_seat` is asked in the communicator's thread and may take
  // its time; without a seat the communicator fails.
  explicit Communicator(std::function<std::optional<Seat>()> find_seat, bool blocking);
  // Waits until its work is done, for ever where a peer never comes.
  ~Communicator();

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Ends all work where it is, its results unknown. Destroy it then.
  void Abort();

  // Until it has its ranks, and until its work is done. The state then.
  ncclResult_t WaitUntilReady();
  ncclResult_t WaitUntilIdle();

  // ncclInProgress until it has its ranks; an error stays.
  ncclResult_t state() const { return state_; }
  bool blocking() const { return blocking_; }
  // Known once it is ready.
  int ranks() const { return seat_.ranks; }
  int rank() const { return seat_.rank; }
  int device() const { return device_; }

  // The task in its turn and after `after`.
  Pending Enqueue(Task task, const Pending& after);

  // What went wrong first, for people and for ncclCommGetAsyncError.
  void Fail(ncclResult_t error, const std::string& why);
  std::string last_error() const;

  // A sum of values that each rank multiplies by its own factor first.
  ncclRedOp_t AddFactor(double factor);
  std::optional<double> FactorOf(ncclRedOp_t operation) const;

 private:
  struct Entry {
    Task task;
    Pending after;
    Pending end;
  };

  void Work();
  bool TakeSeat();
  void RunEntries();

  const std::function<std::optional<Seat>()> find_seat_;
  const bool blocking_;
  const int device_;
  Seat seat_;
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Board> board_;
  std::deque<Entry> entries_;
  // Work is being done now.
  bool busy_ = true;
  bool closing_ = false;
  bool aborted_ = false;
  std::string last_error_;
  std::vector<double> factors_;
  std::thread thread_;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NCCL_COMMUNICATOR_H_
