#include "orchestrator/launch/supervised_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A pipe whose writing end every child inherits.
class Channel {
 public:
  Channel() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Channel() {
    close(ends_[0]);
    CloseWriting();
  }
  int writing() const { return ends_[1]; }
  void CloseWriting() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  std::string ReadLine() {
    std::string line;
    char c;
    while (read(ends_[0], &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  // Until every writer is gone.
  std::string ReadAll() {
    CloseWriting();
    std::string text;
    char c;
    while (read(ends_[0], &c, 1) == 1) text += c;
    return text;
  }

 private:
  std::array<int, 2> ends_;
};

std::unique_ptr<SupervisedChild> Shell(const std::string& script, ChildCommand more = {}) {
  more.command = {"sh", "-c", script};
  auto child = SupervisedChild::Start(more);
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

TEST(SupervisedChild_ExitCodes, PassThrough) {
  EXPECT_EQ(Shell("exit 0")->Wait(), 0);
  EXPECT_EQ(Shell("exit 37")->Wait(), 37);
  EXPECT_EQ(Shell("kill -9 $$")->Wait(), 128 + SIGKILL);
}

TEST(SupervisedChild_VariablesAndFolder, AreTheCommands) {
  Channel channel;
  const auto child = Shell(absl::StrCat("echo $AUTOBATCH_RANK $(pwd) >&", channel.writing()),
                           {.environment = {{"AUTOBATCH_RANK", "3"}}, .working_directory = "/"});
  EXPECT_EQ(child->Wait(), 0);
  EXPECT_EQ(channel.ReadAll(), "3 /\n");
}

TEST(SupervisedChild_Descriptors, ThatWereOpenedLater_AreNotTheCommands) {
  Channel handed_down;
  const std::vector<int> before = OpenDescriptors();
  Channel ours;
  const auto child =
      Shell(absl::StrCat("cd /proc/self/fd; for i in ", handed_down.writing(), " ", ours.writing(),
                         "; do test -e $i && echo $i; done >&", handed_down.writing()),
            {.descriptors = before});
  child->Wait();
  const std::string expected = absl::StrCat(handed_down.writing(), "\n");
  EXPECT_EQ(handed_down.ReadAll(), expected);
}

TEST(SupervisedChild_NoSuchProgram, IsNamed) {
  const auto missing = SupervisedChild::Start({.command = {"no-such-program"}});
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("cannot start 'no-such-program'"));
  EXPECT_TRUE(
      absl::IsPermissionDenied(SupervisedChild::Start({.command = {"/etc/passwd"}}).status()));
  EXPECT_TRUE(absl::IsNotFound(
      SupervisedChild::Start({.command = {"true"}, .working_directory = "/no/such"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SupervisedChild::Start({}).status()));
}

// The shells loop, since dash loses a signal that comes between a look at its traps and `wait`, and
// another that comes to a child before it has become its program.
TEST(SupervisedChild_ForwardedSignal, ReachesTheWholeGroup) {
  Channel channel;
  const auto child = Shell(absl::StrCat(
      "exec 1>&", channel.writing(),
      "; trap 'echo parent; exit 7' TERM; (trap 'echo child; exit 0' TERM; echo ready; "
      "while :; do sleep 0.1; done) & while :; do sleep 0.1; done"));
  EXPECT_EQ(channel.ReadLine(), "ready");
  child->Forward(SIGTERM);
  EXPECT_EQ(child->Wait(), 7);
  child->Forward(SIGTERM);
  // To the end of the last of the group: what is dying is still there.
  const std::string said = channel.ReadAll();
  EXPECT_THAT(child->EndLeft(absl::Seconds(30)), IsEmpty());
  EXPECT_THAT(said, HasSubstr("parent"));
  EXPECT_THAT(said, HasSubstr("child"));
}

TEST(SupervisedChild_OwnGroup, IsNotOurs) {
  const auto child = Shell("test $(ps -o pgid= -p $$) -eq $$");
  EXPECT_EQ(getpgid(child->pid()), child->pid());
  EXPECT_EQ(child->Wait(), 0);
}

// As torchrun's workers do: sessions of their own, that no group signal reaches.
TEST(EndLeft_SessionsLeftBehind, AreEndedAndNamed) {
  Channel channel;
  const auto child = Shell(absl::StrCat("exec 1>&", channel.writing(),
                                        "; setsid sh -c 'echo up; exec tail -f /dev/null' &"
                                        " exit 0"));
  EXPECT_EQ(child->Wait(), 0);
  EXPECT_EQ(channel.ReadLine(), "up");
  EXPECT_THAT(child->EndLeft(absl::Seconds(30)), ElementsAre(StartsWith("tail (pid ")));
  // Nobody holds the pipe any more.
  EXPECT_EQ(channel.ReadAll(), "");
}

TEST(EndLeft_ProcessesThatIgnoreSigterm, AreKilledAfterTheGrace) {
  Channel channel;
  const auto child =
      Shell(absl::StrCat("exec 1>&", channel.writing(),
                         "; setsid sh -c 'trap \"\" TERM; echo up; tail -f /dev/null' & exit 3"));
  EXPECT_EQ(child->Wait(), 3);
  EXPECT_EQ(channel.ReadLine(), "up");
  EXPECT_THAT(child->EndLeft(absl::Milliseconds(1)), ElementsAre(StartsWith("sh (pid ")));
  EXPECT_EQ(channel.ReadAll(), "");
}

TEST(EndLeft_OthersChildren, AreNotTouched) {
  const auto child = Shell("setsid tail -f /dev/null & exit 0");
  const auto other = Shell("exec tail -f /dev/null");
  EXPECT_EQ(child->Wait(), 0);
  EXPECT_THAT(child->EndLeft(absl::Seconds(30)), ElementsAre(StartsWith("tail (pid ")));
  EXPECT_EQ(kill(other->pid(), 0), 0);
  other->End(absl::Seconds(30));
  EXPECT_EQ(other->Wait(), 128 + SIGTERM);
}

TEST(SupervisedChild_EndOfOneThatIgnoresSigterm, IsSigkillAfterTheGrace) {
  Channel channel;
  const auto child = Shell(absl::StrCat("trap '' TERM; echo up >&", channel.writing(),
                                        "; while :; do tail -f /dev/null; done"));
  EXPECT_EQ(channel.ReadLine(), "up");
  child->End(absl::Milliseconds(1));
  EXPECT_EQ(child->Wait(), 128 + SIGKILL);
}

TEST(SupervisedChild_BaseEnvironment, ReplacesOurs) {
  Channel channel;
  const auto child = Shell(absl::StrCat("echo $A $HOME >&", channel.writing()),
                           {.environment = {{"A", "2"}},
                            .base = Environment{{"A", "1"}, {"PATH", "/bin"}, {"HOME", "/h"}}});
  EXPECT_EQ(child->Wait(), 0);
  EXPECT_EQ(channel.ReadAll(), "2 /h\n");
}

TEST(EndLeft_NothingLeft, ReturnsAtOnce) {
  const auto child = Shell("exit 0");
  EXPECT_EQ(child->Wait(), 0);
  EXPECT_THAT(child->EndLeft(absl::Hours(1)), IsEmpty());
}

TEST(ExecCommand_NoSuchProgram, Returns) {
  // In a child: signals are reset before the attempt.
  EXPECT_EXIT(_exit(absl::IsNotFound(ExecCommand({.command = {"no-such-program"}})) ? 9 : 1),
              ::testing::ExitedWithCode(9), "");
  EXPECT_EXIT((void)ExecCommand({.command = {"sh", "-c", "exit $X"}, .environment = {{"X", "5"}}}),
              ::testing::ExitedWithCode(5), "");
}

}  // namespace
}  // namespace autobatch
