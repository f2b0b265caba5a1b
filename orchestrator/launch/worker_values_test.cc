#include "orchestrator/launch/worker_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/service/worker_server.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::string Digest(absl::string_view text) {
  return absl::StrCat(absl::Hex(std::hash<std::string>()(std::string(text))));
}

// An agent with fixed answers, of which the last is given again and again.
class FakeAgent {
 public:
  FakeAgent(const std::string& path, WorkerReply reply)
      : FakeAgent(path, std::vector<WorkerReply>{std::move(reply)}) {}
  FakeAgent(const std::string& path, std::vector<WorkerReply> replies) {
    auto server = WorkerServer::Listen(io_, {.path = path},
                                       [replies, next = size_t{0}](const WorkerRequest&) mutable {
                                         const size_t at = std::min(next++, replies.size() - 1);
                                         return std::optional(replies[at]);
                                       });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~FakeAgent() {
    io_.stop();
    thread_.join();
  }

 private:
  boost::asio::io_context io_;
  std::unique_ptr<WorkerServer> server_;
  std::thread thread_;
};

class ObtainShareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Short: TEST_TMPDIR does not fit into a socket's address.
    char folder[] = "/tmp/launchXXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }

  WorkerSource Source() {
    return {.run_id = "job1",
            .digest = Digest,
            .deadline = Add(Clock::Real().Now(), absl::Milliseconds(100)),
            .settling = absl::ZeroDuration(),
            .warn = [this](absl::string_view text) { absl::StrAppend(&warning_, text); }};
  }

  std::string Store(bool simulated) const {
    auto record =
        MakeFallbackRecord(
            {.run_id = "job1", .batch = 16, .world_size = 4, .plan = {.min_world_size = 1}}, Digest)
            .value();
    record.simulated = simulated;
    record.digest.clear();
    record.digest = Digest(RecordText(record));
    EXPECT_TRUE(WriteFileAtomically(Path("record.json"), RecordText(record)).ok());
    return Path("record.json");
  }

  std::string folder_;
  std::string warning_;
};

WorkerRequest Rank(int64_t rank, int64_t world_size) {
  return {.world_size = world_size, .rank = rank, .local_rank = 0, .local_world_size = 1};
}

TEST_F(ObtainShareTest, RecordInAFile_GivesTheRowOfThisWorld) {
  WorkerSource source = Source();
  source.record = Store(false);
  const auto reply = ObtainShare(source, Rank(1, 2));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->share->micro_batch, 16);
  EXPECT_EQ(reply->share->global_batch, 32);
  std::map<std::string, std::string> variables;
  for (const auto& variable : reply->variables) variables[variable.name] = variable.value;
  EXPECT_EQ(variables["AUTOBATCH_RANK"], "1");
  EXPECT_EQ(variables["AUTOBATCH_WORLD_SIZE"], "2");
  EXPECT_EQ(variables["AUTOBATCH_RECORD"], source.record);
  EXPECT_EQ(ObtainShare(source, Rank(0, 9)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ObtainShareTest, SimulatedDevices_NeedConsentAndNoFallbackReplacesIt) {
  WorkerSource source = Source();
  source.record = Store(true);
  source.fallback_batch = 4;
  EXPECT_EQ(ObtainShare(source, Rank(0, 2)).status().code(), absl::StatusCode::kInvalidArgument);
  source.allow_simulated = true;
  EXPECT_EQ(ObtainShare(source, Rank(0, 2))->share->micro_batch, 16);
}

TEST_F(ObtainShareTest, Agent_AnswersAndItsRefusalsAreKindsOfErrors) {
  WorkerSource source = Source();
  source.socket = Path("sock");
  source.deadline = Add(Clock::Real().Now(), absl::Minutes(1));
  WorkerReply granted{.verdict = WorkerVerdict::kGranted, .variables = {{"A", "b"}}};
  granted.share = WorkerShare{.run_id = "job1", .micro_batch = 8};
  {
    const FakeAgent agent(source.socket, granted);
    const auto reply = ObtainShare(source, Rank(0, 1));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->share->micro_batch, 8);
    EXPECT_EQ(reply->variables[0].value, "b");
    source.run_id = "job2";
    EXPECT_THAT(std::string(ObtainShare(source, Rank(0, 1)).status().message()),
                HasSubstr("serves run 'job1', and this is run 'job2'"));
  }
  const struct {
    WorkerVerdict verdict;
    int exit_code;
  } cases[] = {{WorkerVerdict::kNoRecord, kExitNoAgreement},
               {WorkerVerdict::kWorldSize, kExitNoAgreement},
               {WorkerVerdict::kUnknownDevice, kExitNoAgreement},
               {WorkerVerdict::kBadRequest, kExitUsage},
               {WorkerVerdict::kLeaving, kExitPeerLost}};
  for (const auto& [verdict, exit_code] : cases) {
    const FakeAgent agent(source.socket, {.verdict = verdict, .message = "because"});
    const auto reply = ObtainShare(source, Rank(0, 1));
    EXPECT_EQ(LaunchExitCode(reply.status()), exit_code);
    EXPECT_EQ(reply.status().message(), "because");
  }
}

TEST_F(ObtainShareTest, WorldAheadOfTheRound_IsAskedForAgain) {
  WorkerSource source = Source();
  source.socket = Path("sock");
  source.deadline = Add(Clock::Real().Now(), absl::Minutes(1));
  source.settling = absl::Minutes(1);
  WorkerReply granted{.verdict = WorkerVerdict::kGranted};
  granted.share = WorkerShare{.run_id = "job1", .micro_batch = 8};
  const FakeAgent agent(source.socket,
                        {{.verdict = WorkerVerdict::kWorldSize, .message = "no row"}, granted});
  const auto reply = ObtainShare(source, Rank(0, 1));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->share->micro_batch, 8);
}

TEST_F(ObtainShareTest, WorldThatNoRoundServesInTime_IsWhatTheAgentSaid) {
  WorkerSource source = Source();
  source.socket = Path("s");
  source.deadline = Add(Clock::Real().Now(), absl::Seconds(3));
  source.settling = absl::Minutes(1);
  const FakeAgent agent(source.socket,
                        {.verdict = WorkerVerdict::kWorldSize, .message = "no row for 5 ranks"});
  const auto reply = ObtainShare(source, Rank(4, 5));
  EXPECT_EQ(reply.status().message(), "no row for 5 ranks");
  EXPECT_EQ(LaunchExitCode(reply.status()), kExitNoAgreement);
}

TEST_F(ObtainShareTest, NoAgent_IsAPeerLost) {
  WorkerSource source = Source();
  source.socket = Path("nobody");
  EXPECT_EQ(LaunchExitCode(ObtainShare(source, Rank(0, 1)).status()), kExitPeerLost);
  EXPECT_EQ(warning_, "");
}

TEST_F(ObtainShareTest, Fallback_IsLoudAndRecorded) {
  WorkerSource source = Source();
  source.socket = Path("nobody");
  source.fallback_batch = 4;
  const auto reply = ObtainShare(source, Rank(2, 3));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->share->micro_batch, 4);
  EXPECT_TRUE(reply->share->fallback);
  EXPECT_THAT(warning_, HasSubstr("NO AGREEMENT: training starts on --fallback-batch 4"));
  const auto record = ReadStoredRecord(reply->share->record_path, "job1", Digest);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->fallback);
}

TEST_F(ObtainShareTest, TamperedRecord_HasNoFallback) {
  WorkerSource source = Source();
  source.record = Path("record.json");
  source.fallback_batch = 4;
  ASSERT_TRUE(WriteFileAtomically(source.record, "{\"schema\":\"autobatch.record.v1\"}").ok());
  EXPECT_EQ(ObtainShare(source, Rank(0, 1)).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace autobatch
