// Certificates of the user's own CA, asked of both sides.

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/test_certificates.h"
#include "orchestrator/net/tls_fixture.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TlsTransportCertificateTest : public TlsFixture {
 protected:
  static std::string Folder() {
    std::string folder = absl::StrCat(getenv("TEST_TMPDIR"), "/certificates-XXXXXX");
    return mkdtemp(folder.data()) == nullptr ? "" : folder;
  }

  // Calls, lets the coordinator judge, and says what an agent's first Receive() comes to.
  absl::Status CallAndReceive(const Credentials& credentials) {
    Made made = Call(credentials);
    if (!made.ok()) return made.status();
    agent_ = *std::move(made);
    return loop_.Run(agent_->Receive()).status();
  }

  const std::string folder_ = Folder();
  const TestAuthority authority_{folder_, "ours"};
  const TestAuthority stranger_{folder_, "theirs"};
  const Certificates coordinator_files_ = authority_.Issue(
      {.common_name = "coordinator", .alternative_names = "IP:127.0.0.1", .usage = "serverAuth"});
  const Certificates agent_files_ =
      authority_.Issue({.common_name = "agent-7", .usage = "clientAuth"});
};

TEST_F(TlsTransportCertificateTest, Connect_BothSigned_FramesAndTheNameOfEach) {
  Listen({}, coordinator_files_);
  Made made = Call(agent_files_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)->peer().identity, "coordinator");
  ASSERT_TRUE(loop_.RunUntil([this] { return !accepted_.empty(); }));
  EXPECT_EQ(accepted_[0]->peer().identity, "agent-7");
  ASSERT_TRUE((*made)->Send(FrameBytes(1, "hello")).ok());
  EXPECT_EQ(loop_.Run(accepted_[0]->Receive())->payload, "hello");
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(TlsTransportCertificateTest, Connect_BadAgent_RefusedWithTheReasonInOurLog) {
  Listen({}, coordinator_files_);
  Certificates of_strangers = stranger_.Issue({.common_name = "agent-7"});
  of_strangers.ca_file = authority_.ca_file();
  const std::vector<std::pair<Certificates, std::string>> cases = {
      {of_strangers, "unable to get local issuer certificate"},
      {authority_.Issue({.common_name = "late", .valid_for_seconds = -60}), "has expired"},
      {coordinator_files_, "unsuitable certificate purpose"},
  };
  for (const auto& [files, reason] : cases) {
    log_.clear();
    const absl::Status status = CallAndReceive(files);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    ASSERT_TRUE(AwaitLog());
    EXPECT_THAT(log_[0], HasSubstr("has no certificate that holds here"));
    EXPECT_THAT(log_[0], HasSubstr(reason));
  }
  EXPECT_THAT(accepted_, IsEmpty());
}

TEST_F(TlsTransportCertificateTest, Connect_AgentWithTheSecretOnly_Refused) {
  Listen({}, coordinator_files_);
  EXPECT_TRUE(absl::IsPermissionDenied(CallAndReceive(RunSecret())));
  EXPECT_THAT(accepted_, IsEmpty());
}

TEST_F(TlsTransportCertificateTest, Connect_CoordinatorWithTheSecretOnly_Refused) {
  Listen();
  EXPECT_TRUE(absl::IsPermissionDenied(CallAndReceive(agent_files_)));
  ASSERT_TRUE(AwaitLog());
  EXPECT_THAT(accepted_, IsEmpty());
}

TEST_F(TlsTransportCertificateTest, Connect_BadCoordinator_AgentGoesNoFurther) {
  Certificates of_strangers =
      stranger_.Issue({.common_name = "c1", .alternative_names = "IP:127.0.0.1"});
  of_strangers.ca_file = authority_.ca_file();
  for (const Certificates& files :
       {of_strangers, authority_.Issue({.common_name = "c2", .alternative_names = "IP:127.0.0.2"}),
        authority_.Issue({.common_name = "127.0.0.1"}),
        // An agent that plays the coordinator.
        authority_.Issue(
            {.common_name = "c3", .alternative_names = "IP:127.0.0.1", .usage = "clientAuth"})}) {
    Listen({}, files);
    const absl::Status status = Call(agent_files_).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("certificate verify failed"));
  }
}

TEST_F(TlsTransportCertificateTest, Connect_NameGiven_ThatNameIsAsked) {
  Listen({}, authority_.Issue({.common_name = "c", .alternative_names = "DNS:head.example"}));
  Certificates files = agent_files_;
  files.coordinator_name = "head.example";
  EXPECT_TRUE(Call(files).ok());
  files.coordinator_name = "other.example";
  EXPECT_TRUE(absl::IsPermissionDenied(Call(files).status()));
}

TEST_F(TlsTransportCertificateTest, Files_BadOnes_ErrorThatNamesThem) {
  const auto open_to_all = agent_files_;
  ASSERT_EQ(chmod(open_to_all.key_file.c_str(), 0644), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Call(open_to_all).status()));
  ASSERT_EQ(chmod(open_to_all.key_file.c_str(), 0600), 0);

  Certificates files = agent_files_;
  files.key_file = coordinator_files_.key_file;
  EXPECT_THAT(Call(files).status().message(), HasSubstr(files.key_file));
  files = agent_files_;
  files.ca_file = "/nonexistent/ca.pem";
  EXPECT_THAT(Call(files).status().message(), HasSubstr("/nonexistent/ca.pem"));
  files = agent_files_;
  files.certificate_file = agent_files_.key_file;
  EXPECT_THAT(Call(files).status().message(), HasSubstr(files.certificate_file));
  files = agent_files_;
  files.key_file = "/nonexistent/key.pem";
  EXPECT_TRUE(absl::IsNotFound(Call(files).status()));
}

}  // namespace
}  // namespace autobatch
