#include "orchestrator/net/memory_transport.h"

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "orchestrator/net/simulated_timers.h"
#include "orchestrator/net/stream_limits.h"
#include "orchestrator/net/task_group.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using Made = absl::StatusOr<std::unique_ptr<Connection>>;

SharedBytes Bytes(uint16_t type, std::string payload) {
  return std::make_shared<const std::string>(
      EncodeFrame({.type = type, .payload = std::move(payload)}).value());
}

class MemoryTransportTest : public ::testing::Test {
 protected:
  void TearDown() override {
    tasks_.Cancel();
    tasks_joined_ = false;
    TaskGroup joiner(io_.get_executor());
    joiner.Spawn("join", Join(this));
    EXPECT_TRUE(timers_.RunUntil([this] { return tasks_joined_; }));
  }

  template <typename T>
  static asio::awaitable<void> Store(asio::awaitable<T> from, std::optional<T>* into) {
    *into = co_await std::move(from);
  }
  static asio::awaitable<void> Join(MemoryTransportTest* self) {
    co_await self->tasks_.Join();
    self->tasks_joined_ = true;
  }

  // Runs to the end, jumping over time; nothing if it never ends.
  template <typename T>
  std::optional<T> Run(asio::awaitable<T> coroutine) {
    std::optional<T> result;
    tasks_.Spawn("test", Store(std::move(coroutine), &result));
    timers_.RunUntil([&result] { return result.has_value(); });
    return result;
  }

  absl::Status Meet() {
    caller_ = network_.MakeConnector("agent", "run-1");
    Made made = *Run(caller_->Connect({kAddress}, Deadline()));
    if (!made.ok()) return made.status();
    agent_ = *std::move(made);
    coordinator_ = *std::move(*Run(listener_->Accept()));
    return absl::OkStatus();
  }

  SteadyTime Deadline() const { return Add(timers_.Now(), absl::Seconds(10)); }

  const HostPort kAddress{"coordinator", 1};
  asio::io_context io_{1};
  SimulatedTimers timers_{io_};
  TaskGroup tasks_{io_.get_executor()};
  bool tasks_joined_ = false;
  MemoryNetwork network_{tasks_, timers_};
  std::unique_ptr<Listener> listener_ = network_.Listen(kAddress).value();
  std::unique_ptr<Connector> caller_;
  std::unique_ptr<Connection> agent_;
  std::unique_ptr<Connection> coordinator_;
};

TEST_F(MemoryTransportTest, Connect_SomebodyListens_FramesBothWays) {
  ASSERT_TRUE(Meet().ok());
  EXPECT_EQ(coordinator_->peer().identity, "run-1");
  ASSERT_TRUE(agent_->Send(Bytes(1, "hello")).ok());
  ASSERT_TRUE(coordinator_->Send(Bytes(2, "welcome")).ok());
  EXPECT_EQ(Run(coordinator_->Receive())->value().payload, "hello");
  EXPECT_EQ(Run(agent_->Receive())->value().payload, "welcome");
}

TEST_F(MemoryTransportTest, Send_TwoFramesInOne_AreReadOneAfterTheOther) {
  ASSERT_TRUE(Meet().ok());
  ASSERT_TRUE(
      agent_->Send(std::make_shared<const std::string>(*Bytes(1, "one") + *Bytes(2, "two"))).ok());
  EXPECT_EQ(Run(coordinator_->Receive())->value().payload, "one");
  EXPECT_EQ(Run(coordinator_->Receive())->value().payload, "two");
}

TEST_F(MemoryTransportTest, Connect_NobodyListens_Unavailable) {
  listener_.reset();
  EXPECT_TRUE(absl::IsUnavailable(Meet()));
}

TEST_F(MemoryTransportTest, Listen_AddressInUse_AlreadyExistsUntilClosed) {
  EXPECT_TRUE(absl::IsAlreadyExists(network_.Listen(kAddress).status()));
  listener_->Close();
  EXPECT_TRUE(network_.Listen(kAddress).ok());
}

TEST_F(MemoryTransportTest, Accept_ListenerClosed_Cancelled) {
  std::optional<Made> accepted;
  tasks_.Spawn("accept", Store(listener_->Accept(), &accepted));
  timers_.Advance(absl::Seconds(1));
  EXPECT_FALSE(accepted.has_value());
  listener_->Close();
  ASSERT_TRUE(timers_.RunUntil([&accepted] { return accepted.has_value(); }));
  EXPECT_TRUE(absl::IsCancelled(accepted->status()));
}

TEST_F(MemoryTransportTest, Finish_PeerReads_AllArrivesThenOutOfRange) {
  ASSERT_TRUE(Meet().ok());
  ASSERT_TRUE(coordinator_->Send(Bytes(1, "last words")).ok());
  std::optional<absl::Status> finished;
  tasks_.Spawn("finish", Store(coordinator_->Finish(Deadline()), &finished));
  EXPECT_EQ(Run(agent_->Receive())->value().payload, "last words");
  EXPECT_TRUE(absl::IsOutOfRange(Run(agent_->Receive())->status()));
  EXPECT_EQ(*finished, absl::OkStatus());
}

TEST_F(MemoryTransportTest, Finish_PeerDoesNotRead_DeadlineExceeded) {
  ASSERT_TRUE(Meet().ok());
  ASSERT_TRUE(coordinator_->Send(Bytes(1, "last words")).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*Run(coordinator_->Finish(Deadline()))));
}

TEST_F(MemoryTransportTest, Close_AtOnce_PeerSeesDataLossAndOwnReceiveWhy) {
  ASSERT_TRUE(Meet().ok());
  std::optional<absl::StatusOr<Frame>> received;
  tasks_.Spawn("receive", Store(coordinator_->Receive(), &received));
  timers_.Advance(absl::Seconds(1));
  coordinator_->Close(absl::AbortedError("a reason"));
  EXPECT_TRUE(absl::IsDataLoss(Run(agent_->Receive())->status()));
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(absl::IsAborted(received->status()));
  EXPECT_TRUE(absl::IsAborted(coordinator_->Send(Bytes(1, ""))));
}

TEST_F(MemoryTransportTest, Send_PeerNeverReads_DroppedWithResourceExhausted) {
  ASSERT_TRUE(Meet().ok());
  absl::Status status;
  int sent = 0;
  for (; status.ok(); ++sent) status = coordinator_->Send(Bytes(1, "x"));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(sent, static_cast<int>(StreamLimits().queue_frames) + 1);
}

TEST_F(MemoryTransportTest, Receive_LargeFrame_RefusedUntilAdmitted) {
  const SharedBytes large = Bytes(1, std::string(kStrangerPayloadLimit + 1, 'x'));
  ASSERT_TRUE(Meet().ok());
  ASSERT_TRUE(agent_->Send(large).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Run(coordinator_->Receive())->status()));
  ASSERT_TRUE(Meet().ok());
  coordinator_->Admit();
  ASSERT_TRUE(agent_->Send(large).ok());
  EXPECT_TRUE(Run(coordinator_->Receive())->ok());
}

TEST_F(MemoryTransportTest, Receive_StrangerSaysNothing_DeadlineExceeded) {
  ASSERT_TRUE(Meet().ok());
  const SteadyTime start = timers_.Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run(coordinator_->Receive())->status()));
  EXPECT_EQ(Between(start, timers_.Now()), absl::Seconds(10));
}

TEST_F(MemoryTransportTest, Unplug_LinkUp_NothingArrivesAndNobodyIsTold) {
  ASSERT_TRUE(Meet().ok());
  coordinator_->Admit();
  network_.Unplug("agent", true);
  ASSERT_TRUE(agent_->Send(Bytes(1, "lost")).ok());
  agent_.reset();
  std::optional<absl::StatusOr<Frame>> received;
  tasks_.Spawn("receive", Store(coordinator_->Receive(), &received));
  timers_.Advance(absl::Hours(1));
  EXPECT_FALSE(received.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(Meet()));
  coordinator_->Close(absl::CancelledError("given up"));
  network_.Unplug("agent", false);
  EXPECT_TRUE(Meet().ok());
}

}  // namespace
}  // namespace autobatch
