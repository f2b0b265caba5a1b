#include "autobatch/simcuda/nccl_board.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace autobatch::simcuda {
namespace {

std::vector<char> Text(const std::string& text) { return {text.begin(), text.end()}; }

// What all gave in one turn, in order of rank.
std::string Gather(Board& board, const std::string& own) {
  std::string all;
  board.Exchange({.label = {}, .bytes = own}, [&all](const std::vector<Board::Turn>& turns) {
    for (const Board::Turn& turn : turns) all.append(turn.bytes.begin(), turn.bytes.end());
  });
  return all;
}

TEST(Board, ProcessesThatTakeManyTurns_SeeWhatAllGave) {
  const auto address = Board::Make();
  ASSERT_TRUE(address);
  constexpr int kRanks = 3;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    const auto board = Board::Join(*address, kRanks, rank);
    if (board == nullptr || !board->WaitForAll()) _exit(2);
    for (int turn = 0; turn < 200; ++turn) {
      const char letter = static_cast<char>('a' + turn % 20);
      const std::string own(1 + rank, letter);
      if (Gather(*board, own) != std::string(6, letter)) _exit(1);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Board::Forget(*address);
}

// Sends numbers to the other rank and takes its own, all at once.
void SwapNumbers(const BoardAddress& address, int rank) {
  constexpr int kCount = 500;
  const auto board = Board::Join(address, 2, rank);
  std::vector<Board::Message> messages;
  for (int i = 0; i < kCount; ++i) {
    const std::string number = std::to_string(1000 * rank + i);
    messages.push_back({.peer = 1 - rank, .is_send = true, .bytes = Text(number)});
    messages.push_back({.peer = 1 - rank, .is_send = false, .bytes = {}});
  }
  ASSERT_TRUE(board->Transfer(messages));
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(messages[2 * i + 1].bytes, Text(std::to_string(1000 * (1 - rank) + i)));
  }
}

TEST(Board, MessagesBothWays_ArriveInOrder) {
  const auto address = Board::Make();
  std::thread other([&address] { SwapNumbers(*address, 1); });
  SwapNumbers(*address, 0);
  other.join();
}

TEST(Board, AMissingRank_IsWaitedForUntilStopped) {
  const auto address = Board::Make();
  const auto board = Board::Join(*address, 2, 0);
  std::thread stopper([&board] { board->Stop(); });
  EXPECT_FALSE(board->WaitForAll());
  stopper.join();
  EXPECT_EQ(Gather(*board, "late"), "");
}

TEST(Board, AKilledPeer_IsSaidWhileItIsWaitedFor) {
  const auto address = Board::Make();
  const pid_t child = fork();
  if (child == 0) {
    const auto board = Board::Join(*address, 2, 1);
    for (;;) pause();
  }
  const auto board = Board::Join(*address, 2, 0);
  ASSERT_TRUE(board->WaitForAll());
  kill(child, SIGKILL);
  bool said = false;
  board->on_dead_peer = [&] {
    said = true;
    board->Stop();
  };
  EXPECT_EQ(Gather(*board, "own"), "");
  EXPECT_TRUE(said);
  waitpid(child, nullptr, 0);
}

TEST(Board, WrongRanksOrAddresses_AreRefused) {
  const auto address = Board::Make();
  const auto board = Board::Join(*address, 2, 0);
  ASSERT_NE(board, nullptr);
  EXPECT_EQ(Board::Join(*address, 2, 0), nullptr) << "taken";
  EXPECT_EQ(Board::Join(*address, 3, 1), nullptr) << "another number of ranks";
  EXPECT_EQ(Board::Join(*address, 2, 2), nullptr);
  EXPECT_EQ(Board::Join(*address, Board::kMostRanks + 1, 1), nullptr);
  BoardAddress wrong = *address;
  wrong.secret ^= 1;
  EXPECT_EQ(Board::Join(wrong, 2, 1), nullptr);
  Board::Forget(*address);
  EXPECT_EQ(Board::Join(*address, 2, 1), nullptr) << "the maker is gone";
}

}  // namespace
}  // namespace autobatch::simcuda
