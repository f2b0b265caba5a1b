#include "orchestrator/service/worker_server.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/types/json.h"
#include "orchestrator/service/ask_agent.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using ::testing::HasSubstr;

SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::minutes(2); }

WorkerRequest Request(int64_t rank = 0) {
  return {.world_size = 4, .rank = rank, .local_rank = 0, .local_world_size = 1};
}

// A server on a thread of its own. Test folders are too long for Unix sockets.
class WorkerServerTest : public testing::Test {
 protected:
  WorkerServerTest() {
    char folder[] = "/tmp/abXXXXXX";
    folder_ = mkdtemp(folder);
    options_.path = folder_ + "/agent.sock";
  }

  ~WorkerServerTest() override {
    if (server_ != nullptr) Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    auto server = WorkerServer::Listen(io_, options_, [this](const WorkerRequest& request) {
      ++asked_;
      return AnswerTo(request);
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    thread_ = std::thread([this] { io_.run(); });
  }

  // Every session has ended when it returns.
  void Stop() {
    asio::co_spawn(io_, server_->Stop(),
                   [](const std::exception_ptr& broken) { EXPECT_FALSE(broken); });
    thread_.join();
    EXPECT_EQ(server_->clients(), 0u);
    server_.reset();
  }

  // Runs on the server's thread and waits for it.
  template <typename F>
  auto OnServer(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    asio::post(io_, [&task] { task(); });
    return result.get();
  }

  void WaitUntilAsked(int times) {
    while (OnServer([this] { return asked_; }) < times) std::this_thread::yield();
  }

  void WaitUntilClients(size_t count) {
    while (OnServer([this] { return server_->clients(); }) != count) std::this_thread::yield();
  }

  void Commit() {
    OnServer([this] {
      committed_ = true;
      server_->RecordChanged();
    });
  }

  std::future<absl::StatusOr<WorkerReply>> AskInBackground() {
    return std::async(std::launch::async,
                      [this] { return AskAgent(options_.path, Request(), Soon()); });
  }

  // What the server says to raw bytes, until it hangs up.
  std::string SaidTo(const std::string& bytes) {
    asio::io_context io;
    stream_protocol::socket socket(io);
    socket.connect(stream_protocol::endpoint(options_.path));
    boost::system::error_code error;
    asio::write(socket, asio::buffer(bytes), error);
    std::string text;
    asio::read_until(socket, asio::dynamic_buffer(text), '\n', error);
    return text;
  }

  std::string folder_;
  WorkerServerOptions options_;
  asio::io_context io_{1};
  std::unique_ptr<WorkerServer> server_;
  std::thread thread_;
  bool committed_ = true;
  int asked_ = 0;

 private:
  std::optional<WorkerReply> AnswerTo(const WorkerRequest& request) const {
    if (!committed_) return std::nullopt;
    return WorkerReply{.verdict = WorkerVerdict::kGranted,
                       .share = WorkerShare{.round = 3, .rank = request.rank}};
  }
};

TEST_F(WorkerServerTest, CommittedRecord_IsSharedAtOnce) {
  Start();
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto reply = AskAgent(options_.path, Request(rank), Soon());
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->verdict, WorkerVerdict::kGranted);
    EXPECT_EQ(reply->share->rank, rank);
  }
}

TEST_F(WorkerServerTest, NoRecordYet_WaitsForTheCommit) {
  committed_ = false;
  Start();
  auto first = AskInBackground();
  auto second = AskInBackground();
  WaitUntilAsked(2);
  Commit();
  for (auto* reply : {&first, &second}) {
    const auto answer = reply->get();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->verdict, WorkerVerdict::kGranted);
  }
}

TEST_F(WorkerServerTest, NoRecordInTheWorkersTime_SaysSo) {
  committed_ = false;
  Start();
  WorkerRequest request = Request();
  request.wait_ms = 1;
  const auto reply = FromJson<WorkerReply>(SaidTo(ToJson(request) + "\n"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->verdict, WorkerVerdict::kNoRecord);
  EXPECT_THAT(reply->message, HasSubstr("1ms"));
}

TEST_F(WorkerServerTest, LongestWait_HoldsAgainstWhatTheWorkerAsks) {
  committed_ = false;
  options_.longest_wait = absl::Milliseconds(1);
  Start();
  const auto reply = AskAgent(options_.path, Request(), Soon());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->verdict, WorkerVerdict::kNoRecord);
}

TEST_F(WorkerServerTest, AgentThatLeaves_TellsThoseWhoWait) {
  committed_ = false;
  Start();
  auto reply = AskInBackground();
  WaitUntilAsked(1);
  Stop();
  const auto answer = reply.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WorkerVerdict::kLeaving);
  EXPECT_FALSE(std::filesystem::exists(options_.path));
}

TEST_F(WorkerServerTest, AgentThatLeaves_DoesNotWaitForHalfARequest) {
  Start();
  asio::io_context io;
  stream_protocol::socket socket(io);
  socket.connect(stream_protocol::endpoint(options_.path));
  asio::write(socket, asio::buffer(std::string("{\"world")));
  WaitUntilClients(1);
  Stop();
}

TEST_F(WorkerServerTest, ClientThatHangsUp_LeavesItsPlace) {
  committed_ = false;
  Start();
  {
    asio::io_context io;
    stream_protocol::socket socket(io);
    socket.connect(stream_protocol::endpoint(options_.path));
    WorkerRequest request = Request();
    request.wait_ms = int64_t{3600} * 1000;
    asio::write(socket, asio::buffer(ToJson(request) + "\n"));
    WaitUntilAsked(1);
  }
  WaitUntilClients(0);
}

TEST_F(WorkerServerTest, OneClientTooMany_IsToldAndServedLater) {
  committed_ = false;
  options_.max_clients = 1;
  Start();
  auto first = AskInBackground();
  WaitUntilAsked(1);
  const auto reply = FromJson<WorkerReply>(SaidTo(ToJson(Request()) + "\n"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->verdict, WorkerVerdict::kBusy);
  auto second = AskInBackground();
  Commit();
  ASSERT_TRUE(first.get().ok());
  const auto answer = second.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WorkerVerdict::kGranted);
}

TEST_F(WorkerServerTest, BadRequests_AreRefusedInWords) {
  Start();
  struct Case {
    std::string bytes;
    const char* says;
  };
  const Case cases[] = {{"GET / HTTP/1.1\r\n", "not JSON"},
                        {"{\"world_size\": \"four\"}\n", "world_size: expected a whole number"},
                        {std::string(100000, 'x'), "65536 bytes"}};
  for (const Case& bad : cases) {
    const auto reply = FromJson<WorkerReply>(SaidTo(bad.bytes));
    ASSERT_TRUE(reply.ok()) << reply.status() << " to " << bad.says;
    EXPECT_EQ(reply->verdict, WorkerVerdict::kBadRequest);
    EXPECT_THAT(reply->message, HasSubstr(bad.says));
  }
}

TEST_F(WorkerServerTest, RequestThatNeverEnds_EndsByItsTimeout) {
  options_.request_timeout = absl::Milliseconds(1);
  Start();
  const auto reply = FromJson<WorkerReply>(SaidTo("{\"world"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->message, HasSubstr("no whole request"));
}

TEST_F(WorkerServerTest, Socket_IsTheUsersOwn) {
  Start();
  struct stat found{};
  ASSERT_EQ(stat(options_.path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, mode_t{0600});
}

TEST_F(WorkerServerTest, SecondAgentAtTheSamePath_IsRefused) {
  Start();
  const auto second = WorkerServer::Listen(io_, options_, nullptr);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(options_.path));
  EXPECT_TRUE(AskAgent(options_.path, Request(), Soon()).ok());
}

TEST_F(WorkerServerTest, SocketOfADeadAgent_IsReplaced) {
  {
    asio::io_context io;
    stream_protocol::acceptor dead(io, stream_protocol::endpoint(options_.path));
  }
  ASSERT_TRUE(std::filesystem::exists(options_.path));
  Start();
  EXPECT_TRUE(AskAgent(options_.path, Request(), Soon()).ok());
}

TEST_F(WorkerServerTest, FileThatIsNoSocket_IsNotTouched) {
  ASSERT_TRUE(WriteFileAtomically(options_.path, "a user's file").ok());
  const auto server = WorkerServer::Listen(io_, options_, nullptr);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(options_.path), "a user's file");
}

TEST_F(WorkerServerTest, PathTooLongOrWithoutFolder_IsNamed) {
  options_.path = absl::StrCat("/tmp/", std::string(200, 'a'));
  EXPECT_EQ(WorkerServer::Listen(io_, options_, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  options_.path = folder_ + "/none/agent.sock";
  const auto server = WorkerServer::Listen(io_, options_, nullptr);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr(options_.path));
}

TEST_F(WorkerServerTest, AgentThatStartsLater_IsWaitedFor) {
  auto reply = AskInBackground();
  Start();
  const auto answer = reply.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
}

TEST(AskAgentTest, NoAgent_SaysWhatWasSeen) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  const absl::Status status = AskAgent("/tmp/no-such-agent.sock", Request(), deadline).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/tmp/no-such-agent.sock"));
  EXPECT_EQ(AskAgent("", Request(), Soon()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AskAgent(std::string(108, 'a'), Request(), Soon()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(AskAgentTest, SomethingElseAnswers_IsDataLoss) {
  char folder[] = "/tmp/abXXXXXX";
  const std::string path = absl::StrCat(mkdtemp(folder), "/s");
  asio::io_context io;
  stream_protocol::acceptor other(io, stream_protocol::endpoint(path));
  std::thread thread([&] {
    stream_protocol::socket socket = other.accept();
    boost::system::error_code error;
    asio::write(socket, asio::buffer(std::string("{\"schema\": \"other.v1\"}\n")), error);
    std::string text;
    asio::read_until(socket, asio::dynamic_buffer(text), "\n\n", error);  // Until it hangs up.
  });
  const absl::Status status = AskAgent(path, Request(), Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("other.v1"));
  thread.join();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace autobatch
