#ifndef AUTOBATCH_SIMCUDA_NCCL_BOARD_H_
#define AUTOBATCH_SIMCUDA_NCCL_BOARD_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace autobatch::simcuda {

// Where a board is found: in memory of the process that made it, which must live until all joined,
// as the real library's root must.
struct BoardAddress {
  pid_t pid = 0;
  int fd = -1;
  uint64_t secret = 0;
};

// Shared memory by which the ranks of a communicator, processes or threads of one machine, exchange
// bytes. What a rank gives is at most kMost long; "unknown" stands for more, and for zeros. One
// thread of a rank calls it at a time; Stop may be called from any.
class Board {
 public:
  static constexpr size_t kMost = 1 << 20;
  static constexpr int kMostRanks = 256;
  // Longest description of a turn.
  static constexpr size_t kMostLabel = 64;

  // Nothing where the process cannot have one.
  static std::optional<BoardAddress> Make();
  // The maker needs the address no more.
  static void Forget(const BoardAddress& address);
  // Takes the place of `rank` and waits for nobody. Null: the maker is gone, or others disagree.
  static std::unique_ptr<Board> Join(const BoardAddress& address, int ranks, int rank);

  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Called, once, when a peer was found dead while this rank waited for it. It goes on waiting.
  std::function<void()> on_dead_peer;

  // Those that wait, and all later ones, return false.
  void Stop();

  // Until all ranks have joined. False: stopped.
  bool WaitForAll();

  // What a rank gives in a turn that all take.
  struct Turn {
    // Describes the turn; all ranks' should agree.
    std::span<const char> label;
    // Empty: unknown.
    std::span<const char> bytes;
  };

  // Gives this rank's turn and waits for the others'; `use` sees all of them. False: stopped.
  bool Exchange(const Turn& own, const std::function<void(const std::vector<Turn>&)>& use);

  // A message to `peer`, or from it.
  struct Message {
    int peer = 0;
    bool is_send = false;
    // To send (empty: unknown), or what came.
    std::vector<char> bytes;
  };

  // All of them, in the order given between two ranks, in any order otherwise. False: stopped.
  bool Transfer(std::vector<Message>& messages);

 private:
  struct Header;
  struct Rank;
  struct Channel;

  Board(int ranks, int rank) : ranks_(ranks), rank_(rank) {}

  Rank& RankAt(int rank) const;
  Channel& ChannelAt(int from, int to) const;
  size_t TurnOffset(int rank, uint64_t turn) const;
  size_t ChannelOffset(int from, int to) const;
  char* TurnBytes(int rank, uint64_t turn) const;
  char* ChannelBytes(int from, int to) const;
  bool WaitUntil(const std::function<bool()>& met);
  void Wake() const;
  void CheckPeers();
  bool Advance(Message& message);

  const int ranks_;
  const int rank_;
  char* base_ = nullptr;
  size_t size_ = 0;
  uint64_t turn_ = 0;
  bool said_dead_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NCCL_BOARD_H_
