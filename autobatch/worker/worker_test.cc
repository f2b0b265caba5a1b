// The real program through real pipes.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

extern char** environ;

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr char kWorker[] = "autobatch/worker/worker";
constexpr int kRequestFd = 10;
constexpr int kReportFd = 11;
constexpr int64_t kMiB = 1 << 20;

// A worker that ends with this object.
class Worker {
 public:
  explicit Worker(const std::string& argument = "") {
    int requests[2];
    int reports[2];
    EXPECT_EQ(pipe2(requests, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(reports, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, requests[0], kRequestFd);
    posix_spawn_file_actions_adddup2(&actions, reports[1], kReportFd);
    if (!argument.empty()) posix_spawn_file_actions_adddup2(&actions, reports[1], STDOUT_FILENO);
    setenv(kRequestFdVariable, std::to_string(kRequestFd).c_str(), 1);
    setenv(kReportFdVariable, std::to_string(kReportFd).c_str(), 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    std::string program = kWorker;
    std::string text = argument;
    std::vector<char*> arguments = {program.data()};
    if (!argument.empty()) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, kWorker, &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(requests[0]);
    close(reports[1]);
    in_ = requests[1];
    out_ = fdopen(reports[0], "r");
  }
  ~Worker() {
    if (pid_ > 0) Exit();
    fclose(out_);
  }

  void Say(const std::string& line) {
    EXPECT_EQ(write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void SetUp(const WorkloadSpec& spec) {
    Say(ToJson(Request{.type = RequestType::kSetup, .workload = spec}) + "\n");
  }
  void Try(const TrialSpec& trial) {
    Say(ToJson(Request{.type = RequestType::kTrial, .trial = trial}) + "\n");
  }
  std::optional<std::string> Line() {
    char* text = nullptr;
    std::size_t size = 0;
    const ssize_t got = getline(&text, &size, out_);
    std::string line(got > 0 ? text : "", got > 0 ? static_cast<std::size_t>(got) : 0);
    free(text);
    if (got <= 0) return std::nullopt;
    return line;
  }
  // The next reply of this type; what comes before it is counted.
  Reply Await(ReplyType type) {
    while (std::optional<std::string> line = Line()) {
      const absl::StatusOr<Reply> reply = FromJson<Reply>(*line);
      if (!reply.ok()) {
        ADD_FAILURE() << reply.status() << ": " << *line;
        return {};
      }
      if (reply->type == type) return *reply;
      if (reply->type == ReplyType::kStep) ++steps;
      if (reply->type == ReplyType::kPhase) ++phases;
      if (reply->type == ReplyType::kResult || reply->type == ReplyType::kHello) {
        ADD_FAILURE() << *line;
        return {};
      }
    }
    ADD_FAILURE() << "the worker said nothing more";
    return {};
  }
  // Closes its input; its exit status.
  int Exit() {
    close(in_);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  int steps = 0;
  int phases = 0;

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  FILE* out_ = nullptr;
};

// Small images make a real model cheap.
WorkloadSpec SmallResNet() { return {.name = "resnet18", .image_size = 64, .classes = 10}; }

TEST(WorkerTest, Trials_OfARealModel_AreReportedUntilTheInputEnds) {
  Worker worker;
  worker.SetUp(SmallResNet());
  const Reply hello = worker.Await(ReplyType::kHello);
  ASSERT_TRUE(hello.hello.has_value());
  EXPECT_EQ(hello.hello->protocol, kProtocolVersion);
  EXPECT_GT(hello.hello->pid, 0);
  EXPECT_EQ(hello.hello->parameters, 11689512 - 990 * 513);

  worker.Try({.batch = 2, .steps = 3, .evaluation_batch = 2});
  const std::optional<Observation> small = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(small.has_value());
  ASSERT_TRUE(small->ok()) << small->failure->message;
  EXPECT_EQ(worker.steps, 3);
  EXPECT_GT(worker.phases, 3);

  // The same process goes on after an out-of-memory.
  worker.Try({.batch = 512, .limit_bytes = 200 * kMiB});
  const std::optional<Observation> large = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(large.has_value());
  ASSERT_FALSE(large->ok());
  EXPECT_EQ(large->failure->kind, FailureKind::kOutOfMemory);
  EXPECT_GT(*large->failure->requested_bytes, 0);

  worker.Try({.batch = 2, .steps = 3, .evaluation_batch = 2});
  const std::optional<Observation> again = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->PeakReserved(), small->PeakReserved());
  EXPECT_EQ(worker.Exit(), 0);
}

TEST(WorkerTest, ForwardFlops_OfResNet18_AreThePublishedOnes) {
  Worker worker;
  worker.SetUp({.name = "resnet18"});
  EXPECT_EQ(worker.Await(ReplyType::kHello).hello->parameters, 11689512);
  worker.Try({.batch = 1, .steps = 1});
  const std::optional<Observation> seen = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(seen.has_value());
  // 1.814 billion multiply-adds.
  EXPECT_NEAR(*seen->forward_flops, 2 * 1.814e9, 2e6);
}

TEST(WorkerTest, Workload_ThatCannotBeBuilt_IsAFailedResultInsteadOfAHello) {
  Worker worker;
  worker.SetUp({.kind = WorkloadKind::kTorchScript, .name = "/no/such/file.pt"});
  const std::optional<Observation> seen = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(seen.has_value());
  ASSERT_FALSE(seen->ok());
  EXPECT_EQ(seen->failure->kind, FailureKind::kModelError);
  EXPECT_EQ(seen->failure->phase, TrialPhase::kLoad);
  EXPECT_THAT(seen->failure->message, HasSubstr("/no/such/file.pt"));
}

TEST(WorkerTest, Cuda_WhereNoneIsVisible_CannotStartAndSaysWhy) {
  Worker worker;
  worker.Say(
      ToJson(Request{
          .type = RequestType::kSetup, .device = DeviceKind::kCuda, .workload = SmallResNet()}) +
      "\n");
  const std::optional<Observation> seen = worker.Await(ReplyType::kResult).result;
  ASSERT_TRUE(seen.has_value());
  ASSERT_FALSE(seen->ok());
  EXPECT_EQ(seen->failure->kind, FailureKind::kCannotStart);
  EXPECT_FALSE(seen->failure->message.empty());
}

TEST(WorkerTest, Setup_OfAnotherProtocol_IsRefused) {
  Worker worker;
  worker.Say(
      ToJson(Request{.type = RequestType::kSetup, .protocol = 99, .workload = SmallResNet()}) +
      "\n");
  EXPECT_EQ(worker.Await(ReplyType::kResult).result->failure->kind, FailureKind::kProtocol);
}

TEST(WorkerTest, Garbage_EndsItWithAnError) {
  Worker worker;
  worker.Say("what?\n");
  EXPECT_FALSE(worker.Line().has_value());
  EXPECT_EQ(worker.Exit(), 1);
}

TEST(WorkerTest, Describe_NamesTheLibrariesAndWhyThereIsNoDevice) {
  Worker worker("--describe");
  const std::optional<std::string> line = worker.Line();
  ASSERT_TRUE(line.has_value());
  const absl::StatusOr<WorkerDescription> description = FromJson<WorkerDescription>(*line);
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_THAT(description->libtorch_version, HasSubstr("2."));
  EXPECT_TRUE(description->cuda_version.has_value());
  EXPECT_TRUE(description->cudnn_version.has_value());
  EXPECT_TRUE(description->nccl_version.has_value());
  EXPECT_TRUE(description->devices.empty());
  EXPECT_FALSE(description->cuda_error.empty());
  EXPECT_EQ(worker.Exit(), 0);
}

TEST(WorkerTest, UnknownArgument_IsAUsageError) {
  Worker worker("--frobnicate");
  EXPECT_EQ(worker.Exit(), 2);
}

}  // namespace
}  // namespace autobatch
