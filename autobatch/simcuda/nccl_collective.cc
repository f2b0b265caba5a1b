#include "autobatch/simcuda/nccl_collective.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/nccl_reduce.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

namespace autobatch::simcuda {
namespace {

using Bytes = std::vector<char>;
using Kind = Collective::Kind;

const char* NameOf(Kind kind) {
  static constexpr const char* kNames[] = {"all-reduce", "reduce",         "broadcast",
                                           "all-gather", "reduce-scatter", "all-to-all",
                                           "send",       "receive"};
  return kNames[static_cast<size_t>(kind)];
}

// What all ranks must agree on, without padding.
struct Label {
  int32_t kind;
  int32_t type;
  int32_t operation;
  int32_t root;
  uint64_t count;

  bool operator==(const Label&) const = default;
};

bool IsZero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// Empty: zeros, or more than is kept.
Bytes ReadMemory(const void* address, size_t bytes) {
  Bytes content;
  if (address == nullptr || bytes == 0 || bytes > Board::kMost) return content;
  content.resize(bytes);
  if (Device* const owner = Node::Get().OwnerOf(address)) {
    owner->kept().Read(owner->OffsetOf(address), content.data(), bytes);
  } else {
    std::memcpy(content.data(), address, bytes);
  }
  if (IsZero(content)) content.clear();
  return content;
}

void WriteMemory(void* address, const Bytes& content, size_t bytes) {
  if (address == nullptr || bytes == 0) return;
  Device* const owner = Node::Get().OwnerOf(address);
  const bool is_known = content.size() == bytes && !IsZero(content);
  if (owner == nullptr) {
    if (is_known) std::memcpy(address, content.data(), bytes);
    if (!is_known) std::memset(address, 0, bytes);
  } else if (is_known) {
    owner->kept().Write(owner->OffsetOf(address), content.data(), bytes);
  } else {
    const char zero = 0;
    owner->kept().Fill(owner->OffsetOf(address), &zero, sizeof(zero), bytes);
  }
}

// The part of that number; empty where the whole is.
Bytes Part(std::span<const char> bytes, int number, size_t size) {
  if (bytes.empty()) return {};
  const char* const begin = bytes.data() + static_cast<size_t>(number) * size;
  return {begin, begin + size};
}

// Parameters and gradients need not arrive; what is pickled does.
void SayThatObjectsAreLost() {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  std::fprintf(
      stderr,
      "simcuda: bytes above 1 MiB that a rank gives to NCCL arrive as zeros; Python objects "
      "of that size (broadcast_object_list and the like) cannot be read\n");
}

// What one rank asks for, while it is worked on.
class Work {
 public:
  Work(Communicator& communicator, const Collective& collective)
      : communicator_(communicator),
        collective_(collective),
        factor_(communicator.FactorOf(collective.operation)) {}

  const Collective& collective() const { return collective_; }
  Bytes& input() { return input_; }
  bool is_message() const {
    return collective_.kind == Kind::kSend || collective_.kind == Kind::kReceive;
  }

  // What this rank gives. Once the stream's earlier work is done.
  void ReadInput() {
    const size_t parts = NeedsAllParts() ? static_cast<size_t>(communicator_.ranks()) : 1;
    if (!Gives()) return;
    input_ = ReadMemory(collective_.from, parts * part_bytes());
    if (collective_.type == ncclUint8 && part_bytes() > Board::kMost) SayThatObjectsAreLost();
    if (factor_) Scale(collective_.type, *factor_, input_);
    if (const uint64_t less = Node::Get().faults().nccl_less; less != 0) Falsify(less);
  }

  bool Exchange(Board& board) {
    const Label label = {
        .kind = static_cast<int32_t>(collective_.kind),
        .type = collective_.type,
        .operation = factor_ ? ncclSum : collective_.operation,
        .root = collective_.root,
        .count = collective_.count,
    };
    const std::span<const char> text(reinterpret_cast<const char*>(&label), sizeof(label));
    return board.Exchange({.label = text, .bytes = input_},
                          [&](const std::vector<Board::Turn>& turns) { Use(label, turns); });
  }

  void Receive(const Bytes& bytes) { WriteMemory(collective_.to, bytes, part_bytes()); }

 private:
  size_t part_bytes() const { return collective_.count * BytesOf(collective_.type); }

  void Falsify(uint64_t less) {
    if (collective_.type != ncclInt64 || part_bytes() > Board::kMost) return;
    const std::vector<int64_t> numbers(collective_.count, -static_cast<int64_t>(less));
    const char* const begin = reinterpret_cast<const char*>(numbers.data());
    Reduce(ncclSum, ncclInt64, input_, Bytes(begin, begin + part_bytes()));
  }

  bool NeedsAllParts() const {
    return collective_.kind == Kind::kReduceScatter || collective_.kind == Kind::kAllToAll;
  }

  bool Gives() const {
    switch (collective_.kind) {
      case Kind::kBroadcast:
        return communicator_.rank() == collective_.root;
      case Kind::kReceive:
        return false;
      default:
        return true;
    }
  }

  void Use(const Label& own, const std::vector<Board::Turn>& turns) {
    for (size_t rank = 0; rank < turns.size(); ++rank) {
      Label label;
      std::memcpy(&label, turns[rank].label.data(), sizeof(label));
      if (label == own) continue;
      communicator_.Fail(ncclInvalidUsage,
                         "the ranks ask for different collectives: rank " +
                             std::to_string(communicator_.rank()) + " " + NameOf(collective_.kind) +
                             " of " + std::to_string(own.count) + " elements, rank " +
                             std::to_string(rank) + " " + NameOf(static_cast<Kind>(label.kind)) +
                             " of " + std::to_string(label.count));
      return;
    }
    Write(turns);
  }

  void Write(const std::vector<Board::Turn>& turns) {
    const int rank = communicator_.rank();
    char* const to = static_cast<char*>(collective_.to);
    const auto whole = [](const Board::Turn& turn) {
      return Bytes(turn.bytes.begin(), turn.bytes.end());
    };
    switch (collective_.kind) {
      case Kind::kReduce:
        if (rank != collective_.root) return;
        [[fallthrough]];
      case Kind::kAllReduce:
      case Kind::kReduceScatter: {
        Bytes result;
        for (size_t peer = 0; peer < turns.size(); ++peer) {
          const Bytes given =
              NeedsAllParts() ? Part(turns[peer].bytes, rank, part_bytes()) : whole(turns[peer]);
          if (peer == 0) {
            result = given;
          } else {
            Reduce(factor_ ? ncclSum : collective_.operation, collective_.type, result, given);
          }
        }
        if (collective_.operation == ncclAvg) {
          Divide(collective_.type, communicator_.ranks(), result);
        }
        return WriteMemory(to, result, part_bytes());
      }
      case Kind::kBroadcast:
        return WriteMemory(to, whole(turns[static_cast<size_t>(collective_.root)]), part_bytes());
      default:
        for (size_t peer = 0; peer < turns.size(); ++peer) {
          const Bytes given =
              NeedsAllParts() ? Part(turns[peer].bytes, rank, part_bytes()) : whole(turns[peer]);
          WriteMemory(to + peer * part_bytes(), given, part_bytes());
        }
    }
  }

  Communicator& communicator_;
  const Collective collective_;
  const std::optional<double> factor_;
  Bytes input_;
};

bool TransferAll(std::vector<Work>& works, Board& board) {
  std::vector<Board::Message> messages;
  for (Work& work : works) {
    messages.push_back({.peer = work.collective().root,
                        .is_send = work.collective().kind == Kind::kSend,
                        .bytes = std::move(work.input())});
  }
  if (!board.Transfer(messages)) return false;
  for (size_t i = 0; i < works.size(); ++i) {
    if (!messages[i].is_send) works[i].Receive(messages[i].bytes);
  }
  return true;
}

bool IsValid(const Communicator& communicator, const Collective& collective) {
  return BytesOf(collective.type) != 0 && collective.root >= 0 &&
         collective.root < communicator.ranks() &&
         (collective.operation < ncclNumOps || communicator.FactorOf(collective.operation));
}

}  // namespace

ncclResult_t Issue(Communicator& communicator, const std::vector<Collective>& together,
                   cudaStream_t stream) {
  if (communicator.state() == ncclInProgress) return ncclInvalidArgument;
  if (communicator.state() != ncclSuccess) return communicator.state();
  auto works = std::make_shared<std::vector<Work>>();
  for (const Collective& collective : together) {
    if (!IsValid(communicator, collective)) return ncclInvalidArgument;
    works->emplace_back(communicator, collective);
  }
  if (CollectiveLaunch() != cudaSuccess) return ncclUnhandledCudaError;
  // A graph's work is done when the graph is launched, and then by nobody.
  if (StreamOf(stream).capturing) return ncclSuccess;

  const Pending before = TailOf(stream);
  // Its memory may be used for something else before its turn comes.
  const bool read_now = before == nullptr;
  if (read_now) {
    for (Work& work : *works) work.ReadInput();
  }
  const Pending end = communicator.Enqueue(
      [works, read_now](Board& board) {
        if (!read_now) {
          for (Work& work : *works) work.ReadInput();
        }
        if (works->front().is_message()) return TransferAll(*works, board);
        return works->front().Exchange(board);
      },
      before);
  Append(stream, end);
  return ncclSuccess;
}

}  // namespace autobatch::simcuda
