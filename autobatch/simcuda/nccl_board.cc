#include "autobatch/simcuda/nccl_board.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "autobatch/simcuda/process.h"

namespace autobatch::simcuda {
namespace {

// How soon a dead peer is noticed.
constexpr timespec kPeerCheck = {.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr size_t kPage = 4096;

size_t RoundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

struct Board::Header {
  std::atomic<uint64_t> secret;
  std::atomic<int> ranks;
  // Counts every change, and is what all wait on.
  std::atomic<uint32_t> changes;
};

struct Board::Rank {
  std::atomic<pid_t> pid;
  std::atomic<uint64_t> start_time;
  // Last once joined.
  std::atomic<bool> joined;
  // Number of the last turn.
  std::atomic<uint64_t> given;
  // Of the last two turns.
  char labels[2][kMostLabel];
  size_t label_sizes[2];
  size_t sizes[2];
};

struct Board::Channel {
  std::atomic<uint64_t> sent;
  std::atomic<uint64_t> received;
  size_t size;
};

Board::Rank& Board::RankAt(int rank) const { return reinterpret_cast<Rank*>(base_ + kPage)[rank]; }

Board::Channel& Board::ChannelAt(int from, int to) const {
  char* const channels = base_ + kPage + RoundUp(static_cast<size_t>(ranks_) * sizeof(Rank));
  return reinterpret_cast<Channel*>(channels)[from * ranks_ + to];
}

size_t Board::TurnOffset(int rank, uint64_t turn) const {
  const auto ranks = static_cast<size_t>(ranks_);
  const size_t begin =
      kPage + RoundUp(ranks * sizeof(Rank)) + RoundUp(ranks * ranks * sizeof(Channel));
  return begin + (static_cast<size_t>(rank) * 2 + turn % 2) * kMost;
}

size_t Board::ChannelOffset(int from, int to) const {
  return TurnOffset(ranks_, 0) + static_cast<size_t>(from * ranks_ + to) * kMost;
}

char* Board::TurnBytes(int rank, uint64_t turn) const { return base_ + TurnOffset(rank, turn); }

char* Board::ChannelBytes(int from, int to) const { return base_ + ChannelOffset(from, to); }

std::optional<BoardAddress> Board::Make() {
  BoardAddress address = {.pid = getpid()};
  address.fd = memfd_create("simcuda-nccl", MFD_CLOEXEC);
  if (address.fd < 0) return std::nullopt;
  if (ftruncate(address.fd, kPage) != 0 ||
      getrandom(&address.secret, sizeof(address.secret), 0) != sizeof(address.secret) ||
      pwrite(address.fd, &address.secret, sizeof(address.secret), 0) != sizeof(address.secret)) {
    close(address.fd);
    return std::nullopt;
  }
  return address;
}

void Board::Forget(const BoardAddress& address) {
  if (address.pid == getpid() && address.fd >= 0) close(address.fd);
}

std::unique_ptr<Board> Board::Join(const BoardAddress& address, int ranks, int rank) {
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  uint64_t secret = 0;
  std::unique_ptr<Board> board(new Board(ranks, rank));
  board->size_ = board->ChannelOffset(ranks, 0);
  // All of them make it as long, and only pages that were written take memory.
  const bool usable = pread(fd, &secret, sizeof(secret), 0) == sizeof(secret) &&
                      secret == address.secret &&
                      ftruncate(fd, static_cast<off_t>(board->size_)) == 0;
  void* const map = !usable ? MAP_FAILED
                            : mmap(nullptr, board->size_, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return nullptr;
  board->base_ = static_cast<char*>(map);

  auto& header = *reinterpret_cast<Header*>(board->base_);
  int none = 0;
  if (!header.ranks.compare_exchange_strong(none, ranks) && none != ranks) return nullptr;
  Rank& own = board->RankAt(rank);
  pid_t nobody = 0;
  if (!own.pid.compare_exchange_strong(nobody, getpid())) return nullptr;
  own.start_time = StartTime(getpid());
  own.joined = true;
  board->Wake();
  return board;
}

Board::~Board() {
  if (base_ != nullptr) munmap(base_, size_);
}

void Board::Wake() const {
  auto& changes = reinterpret_cast<Header*>(base_)->changes;
  ++changes;
  syscall(SYS_futex, &changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Board::Stop() {
  stopped_ = true;
  Wake();
}

void Board::CheckPeers() {
  for (int i = 0; i < ranks_ && !said_dead_; ++i) {
    const Rank& peer = RankAt(i);
    if (!peer.joined || StartTime(peer.pid) == peer.start_time) continue;
    said_dead_ = true;
    if (on_dead_peer) on_dead_peer();
  }
}

bool Board::WaitUntil(const std::function<bool()>& met) {
  auto& changes = reinterpret_cast<Header*>(base_)->changes;
  for (;;) {
    const uint32_t before = changes;
    if (stopped_) return false;
    if (met()) return true;
    const long woken = syscall(SYS_futex, &changes, FUTEX_WAIT, before, &kPeerCheck, nullptr, 0);
    if (woken != 0 && errno == ETIMEDOUT) CheckPeers();
  }
}

bool Board::WaitForAll() {
  return WaitUntil([this] {
    for (int i = 0; i < ranks_; ++i) {
      if (!RankAt(i).joined) return false;
    }
    return true;
  });
}

bool Board::Exchange(const Turn& own, const std::function<void(const std::vector<Turn>&)>& use) {
  const uint64_t turn = ++turn_;
  const size_t place = turn % 2;
  Rank& self = RankAt(rank_);
  // Nobody reads what the place holds of the turn before the last: all have given the last one
  // since.
  self.label_sizes[place] = std::min(own.label.size(), kMostLabel);
  std::copy_n(own.label.data(), self.label_sizes[place], self.labels[place]);
  self.sizes[place] = own.bytes.size() > kMost ? 0 : own.bytes.size();
  std::copy_n(own.bytes.data(), self.sizes[place], TurnBytes(rank_, turn));
  self.given = turn;
  Wake();
  const bool all_gave = WaitUntil([&] {
    for (int i = 0; i < ranks_; ++i) {
      if (RankAt(i).given < turn) return false;
    }
    return true;
  });
  if (!all_gave) return false;
  std::vector<Turn> turns;
  for (int i = 0; i < ranks_; ++i) {
    const Rank& rank = RankAt(i);
    turns.push_back({.label = {rank.labels[place], rank.label_sizes[place]},
                     .bytes = {TurnBytes(i, turn), rank.sizes[place]}});
  }
  use(turns);
  return true;
}

// Whether the message went through.
bool Board::Advance(Message& message) {
  const int from = message.is_send ? rank_ : message.peer;
  const int to = message.is_send ? message.peer : rank_;
  Channel& channel = ChannelAt(from, to);
  if (message.is_send) {
    if (channel.sent != channel.received) return false;
    channel.size = message.bytes.size() > kMost ? 0 : message.bytes.size();
    std::copy_n(message.bytes.data(), channel.size, ChannelBytes(from, to));
    ++channel.sent;
  } else {
    if (channel.sent == channel.received) return false;
    const char* const bytes = ChannelBytes(from, to);
    message.bytes.assign(bytes, bytes + channel.size);
    ++channel.received;
  }
  Wake();
  return true;
}

bool Board::Transfer(std::vector<Message>& messages) {
  std::vector<Message*> open;
  for (Message& message : messages) open.push_back(&message);
  return WaitUntil([&] {
    std::vector<Message*> left;
    for (Message* const message : open) {
      // One that went the same way before it comes first.
      const bool is_next = std::none_of(left.begin(), left.end(), [&](const Message* other) {
        return other->peer == message->peer && other->is_send == message->is_send;
      });
      if (!is_next || !Advance(*message)) left.push_back(message);
    }
    open.swap(left);
    return open.empty();
  });
}

}  // namespace autobatch::simcuda
