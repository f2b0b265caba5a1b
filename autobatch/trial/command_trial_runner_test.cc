#include "autobatch/trial/command_trial_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/units.h"
#include "autobatch/trial/command_trial_fixture.h"
#include "autobatch/trial/test_support.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/observed_memory.h"

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Speaks the protocol as the helper of a user's script does.
constexpr char kSpeaker[] = R"(
import json, os, sys
requests = os.fdopen(int(os.environ['AUTOBATCH_REQUEST_FD']))
setup, asked = (json.loads(line) for line in requests)
report = os.fdopen(int(os.environ['AUTOBATCH_REPORT_FD']), 'w', buffering=1)
say = lambda **reply: print(json.dumps(reply), file=report)
trial = asked['trial']
say(type='hello', hello={'protocol': 1, 'pid': os.getpid(), 'parameters': 12})
steps = []
def step():
    steps.append({'step': len(steps) + 1, 'step_ms': 1.5,
                  'peak': {'reserved_bytes': 1000 * trial['batch'], 'allocated_bytes': 1}})
    say(type='step', step=steps[-1])
def result(**more):
    say(type='result', result={'steps': steps, 'method': 'python', 'batch_seen': trial['batch'],
                               'steady': steps[-1]['peak'], **more})
)";

class CommandTrialRunnerTest : public CommandTrialFixture {
 protected:
  static Observation Run(TrialRunner& runner, const TrialSpec& trial,
                         SteadyTime deadline = kNever) {
    const auto seen = runner.Run(trial, deadline, {});
    EXPECT_TRUE(seen.ok()) << seen.status();
    return seen.ok() ? *seen : Observation();
  }
  Observation Run(std::vector<std::string> command, const TrialSpec& trial = {.batch = 4}) const {
    return Run(*NewCommandTrialRunner(Options(std::move(command))), trial);
  }
  // A script that knows its batch.
  Observation Shell(const std::string& script, const TrialSpec& trial = {.batch = 4}) const {
    return Run({"sh", "-c", script, "{batch}"}, trial);
  }
  Observation Speaker(const std::string& script, const TrialSpec& trial = {.batch = 4}) const {
    return Run({"python3", "-c", absl::StrCat(kSpeaker, script)}, trial);
  }
};

TEST_F(CommandTrialRunnerTest, Arguments_ArriveFilledAndWhole) {
  CommandTrialOptions options =
      Options({"sh", "-c", "printf '%s|' \"$@\" > args", "name", "a b", "\"{batch}\"", "",
               "{device} {steps} {seed} {accumulation} {global_batch}", "*"});
  options.world_size = 3;
  const Observation seen =
      Run(*NewCommandTrialRunner(options), {.batch = 4, .steps = 8, .accumulation = 2, .seed = 7});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(Text("args"), "a b|\"4\"||cpu 8 7 2 24|*|");
}

TEST_F(CommandTrialRunnerTest, RelativeProgram_IsFoundWhereTheUserStands) {
  std::ofstream(folder_ + "/train.sh") << "#!/bin/sh\necho ran > ran\n";
  std::filesystem::permissions(folder_ + "/train.sh", std::filesystem::perms::owner_all);
  const Observation seen = Run({"./train.sh", "{batch}"});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(Text("ran"), "ran\n");
}

TEST_F(CommandTrialRunnerTest, WatchedCommand_IsMeasuredByItsTree) {
  // Holds 64 MiB in a child of the shell.
  const Observation seen = Run({"sh", "-c", "python3 -c \"b = bytearray({batch} << 20)\"; true"},
                               {.batch = 64, .limit_bytes = 512 * kMiB});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.method, "driver");
  EXPECT_GT(seen.PeakReserved(), 64 * kMiB);
  EXPECT_LT(seen.PeakReserved(), 160 * kMiB);
  EXPECT_EQ(seen.budget_bytes, 512 * kMiB);
  EXPECT_GT(seen.trial_ms, 0);
  EXPECT_EQ(seen.trial.batch, 64);
  EXPECT_THAT(seen.warnings, ::testing::IsEmpty());
}

TEST_F(CommandTrialRunnerTest, CommandAboveItsBudget_IsEndedAndOutOfMemory) {
  auto runner = NewCommandTrialRunner(
      Options({"python3", "-c",
               "import signal\nb = b'x' * ({batch} << 20)\nif {batch} > 1: signal.pause()"}));
  EXPECT_TRUE(Run(*runner, {.batch = 1, .limit_bytes = 64 * kMiB}).ok());
  const Observation seen = Run(*runner, {.batch = 200, .limit_bytes = 64 * kMiB});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(seen.failure->message, HasSubstr("the budget is 64.0 MiB"));
  EXPECT_GT(seen.PeakReserved(), 64 * kMiB);
}

TEST_F(CommandTrialRunnerTest, FirstTrialAboveItsBudget_TellsWhatItNeeds) {
  // It might have been one that counts for itself.
  const Observation seen = Run({"python3", "-c", "b = b'x' * ({batch} << 20)"},
                               {.batch = 100, .limit_bytes = 64 * kMiB});
  EXPECT_TRUE(seen.ok());
  EXPECT_GT(seen.PeakReserved(), 100 * kMiB);
}

TEST_F(CommandTrialRunnerTest, SpeakerOnTheCpu_CountsForItself) {
  // The interpreter alone is above its budget.
  const Observation seen =
      Speaker("for _ in range(trial['steps']): step()\nresult()\n", {.batch = 4, .limit_bytes = 1});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.PeakReserved(), 4000);
}

struct EndCase {
  const char* script;
  FailureKind kind;
  const char* message;
};

TEST_F(CommandTrialRunnerTest, BadEnds_AreToldApartByExitAndWords) {
  const EndCase cases[] = {
      {"echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB' >&2; exit 1",
       FailureKind::kOutOfMemory, "CUDA out of memory"},
      {"echo 'ValueError: bad data' >&2; exit 1", FailureKind::kModelError,
       "exited with code 1 while it ran: ValueError: bad data"},
      {"kill -SEGV $$", FailureKind::kCrashed, "SIGSEGV"},
      {"kill -KILL $$", FailureKind::kHostOutOfMemory, "SIGKILL"},
      {"no-such-program-here", FailureKind::kCannotStart, "not found"},
  };
  for (const EndCase& bad : cases) {
    const Observation seen = Shell(bad.script);
    ASSERT_FALSE(seen.ok()) << bad.script;
    EXPECT_EQ(seen.failure->kind, bad.kind) << bad.script << ": " << seen.failure->message;
    EXPECT_THAT(seen.failure->message, HasSubstr(bad.message));
    EXPECT_NE(seen.failure->advice, "");
  }
}

TEST_F(CommandTrialRunnerTest, ProgramThatIsNotThere_CannotStart) {
  const Observation seen = Run({"no-such-program", "{batch}"});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kCannotStart);
}

TEST_F(CommandTrialRunnerTest, Deadline_EndsTheCommandAndAdvisesSteps) {
  const SteadyTime soon = Add(Clock::Real().Now(), absl::Milliseconds(300));
  const Observation seen = Run(
      *NewCommandTrialRunner(Options({"sh", "-c", "trap '' TERM; while :; do :; done", "{batch}"})),
      {}, soon);
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(seen.failure->advice, HasSubstr("{steps}"));
}

TEST_F(CommandTrialRunnerTest, Cancel_EndsTheCommandFromAnotherThread) {
  Fifo fifo;
  auto runner = NewCommandTrialRunner(
      Options({"sh", "-c",
               absl::StrCat("exec 9>", "'", fifo.path(), "'; echo $$ >&9; exec tail -f /dev/null"),
               "{batch}"}));
  std::jthread canceller([&] {
    fifo.ReadPids(1);
    runner->Cancel();
  });
  EXPECT_EQ(Run(*runner, {}).failure->kind, FailureKind::kCancelled);
  EXPECT_EQ(Run(*runner, {}).failure->kind, FailureKind::kCancelled);
}

TEST_F(CommandTrialRunnerTest, CommandThatNothingTellsTheBatch_IsToldSo) {
  const Observation seen = Run({"true"});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kBatchIgnored);
  EXPECT_THAT(seen.failure->message, HasSubstr("{batch}"));
}

TEST_F(CommandTrialRunnerTest, Speaker_IsMeasuredByItself) {
  const Observation seen = Speaker("for _ in range(trial['steps']): step()\nresult()\n");
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.method, "python");
  EXPECT_EQ(seen.steps.size(), 3u);
  EXPECT_EQ(seen.PeakReserved(), 4000);
  EXPECT_EQ(seen.batch_seen, 4);
}

TEST_F(CommandTrialRunnerTest, SpeakerThatGoesOnAfterItsResult_IsEnded) {
  const Observation seen = Speaker(
      "for _ in range(trial['steps']): step()\nresult()\nimport signal\n"
      "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()\n");
  EXPECT_TRUE(seen.ok()) << seen.failure->message;
}

TEST_F(CommandTrialRunnerTest, SpeakerThatEndsBeforeItsSteps_IsToldSo) {
  const Observation seen = Speaker("step()\nstep()\n");
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kModelError);
  EXPECT_THAT(seen.failure->message, HasSubstr("ended after 2 of 3 steps"));
}

TEST_F(CommandTrialRunnerTest, SpeakerThatIgnoresTheBatch_IsToldSo) {
  const Observation seen =
      Speaker("for _ in range(trial['steps']): step()\nresult(batch_seen=64)\n");
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kBatchIgnored);
  EXPECT_THAT(seen.failure->message, HasSubstr("64"));
}

TEST_F(CommandTrialRunnerTest, SpeakerThatFails_KeepsItsStepsAndWords) {
  const Observation seen = Speaker("step()\nraise ValueError('shapes differ')\n");
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kModelError);
  EXPECT_THAT(seen.failure->message, HasSubstr("in step 2: ValueError: shapes differ"));
  EXPECT_EQ(seen.steps.size(), 1u);
  EXPECT_EQ(seen.parameters, 12);
}

TEST_F(CommandTrialRunnerTest, ErrorAfterTheResult_IsAWarning) {
  const Observation seen =
      Speaker("for _ in range(trial['steps']): step()\nresult()\nraise KeyError('final epoch')\n");
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_THAT(seen.warnings, Contains(HasSubstr("KeyError")));
}

TEST_F(CommandTrialRunnerTest, Garbage_IsNoProtocol) {
  const Observation seen = Shell("echo 'loss 0.3' >&6");
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kProtocol);
}

TEST_F(CommandTrialRunnerTest, ProcessesLeftBehind_AreEndedAndNamed) {
  // Its own session, deaf to SIGTERM, holding a FIFO of ours until it is gone.
  Fifo fifo;
  const Observation seen =
      Shell(absl::StrCat("setsid sh -c 'trap \"\" TERM; exec 9>\"", fifo.path(),
                         "\"; echo $$ >&9; touch started; exec tail -f /dev/null' & ",
                         "while ! [ -e started ]; do :; done"));
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_THAT(seen.warnings, Contains(HasSubstr("left processes behind")));
  EXPECT_THAT(seen.warnings, Contains(HasSubstr("(pid ")));
  fifo.WaitUntilReleased();
}

TEST_F(CommandTrialRunnerTest, OutputFolder_IsThereWritableAndGoneAfterwards) {
  const Observation seen = Run({"sh", "-c", "touch \"$0/weights.pt\" && printf %s \"$0\" > where",
                                "{output_dir}", "{batch}"});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_THAT(Text("where"), HasSubstr("autobatch-scratch."));
  EXPECT_FALSE(std::filesystem::exists(Text("where")));
}

TEST_F(CommandTrialRunnerTest, FilesLeftInTheWorkingDirectory_AreListed) {
  EXPECT_THAT(Shell("mkdir -p runs/exp1; echo x > runs/exp1/log; echo x > last.pt").warnings,
              Contains("left in the working directory: last.pt, runs/"));
}

TEST_F(CommandTrialRunnerTest, Loggers_AreOfflineAndTheGpuIsHidden) {
  Shell("printf '%s,%s' \"$WANDB_MODE\" \"[$CUDA_VISIBLE_DEVICES]\" > seen");
  EXPECT_EQ(Text("seen"), "disabled,[]");
}

// A GPU of 1000 MiB that its driver reads so.
CommandTrialOptions OnGpu(CommandTrialOptions options, int64_t free_mib = 600) {
  options.devices = {Device{.uuid = "GPU-1234", .kind = DeviceKind::kCuda}};
  options.devices[0].memory.total_bytes = 1000 * kMiB;
  options.read_device_memory = [free_mib](const Device&) -> absl::StatusOr<MemoryInfo> {
    return MemoryInfo{.free_bytes = free_mib * kMiB};
  };
  return options;
}

TEST_F(CommandTrialRunnerTest, Gpu_IsSeenAloneUnderTheBudgetAsAHardLimit) {
  const Observation seen = Run(
      *NewCommandTrialRunner(OnGpu(
          Options({"sh", "-c",
                   "printf '%s %s' \"$CUDA_VISIBLE_DEVICES\" \"$PYTORCH_CUDA_ALLOC_CONF\" > seen",
                   "{batch}"}))),
      {.batch = 4, .reserve_bytes = 100 * kMiB});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(Text("seen"), "GPU-1234 per_process_memory_fraction:0.500000");
  EXPECT_EQ(seen.budget_bytes, 500 * kMiB);
  EXPECT_EQ(seen.free_before_bytes, 600 * kMiB);
  EXPECT_EQ(seen.total_bytes, 1000 * kMiB);
}

// Stands for a program with the observer in it: it writes what that would count (budget, processes,
// held, peak, refusals, refused).
constexpr char kObserved[] = R"(
import os, struct
with open(os.environ.pop('AUTOBATCH_OBSERVER_FILE'), 'r+b') as file:
    budget = struct.unpack('q', file.read(8))[0]
    file.write(struct.pack('5q', 1, 0, PEAK, REFUSALS, 64 << 20))
open('seen', 'w').write(os.environ['LD_PRELOAD'] + ' ' + str(budget))
)";

std::string Observed(const std::string& peak, const std::string& refusals,
                     const std::string& then = "") {
  return absl::StrReplaceAll(absl::StrCat(kObserved, then),
                             {{"PEAK", peak}, {"REFUSALS", refusals}});
}

TEST_F(CommandTrialRunnerTest, Observer_IsPreloadedFirstWithTheBudgetAndBelieved) {
  CommandTrialOptions options =
      OnGpu(Options({"python3", "-c", Observed("300 << 20", "2"), "{batch}"}));
  options.observer = "/nonexistent/libobserver.so";
  options.environment = {{"LD_PRELOAD", "/nonexistent/other.so"}};
  // The driver answers before the command starts, and no more.
  options.read_device_memory = [asked = 0](const Device&) mutable -> absl::StatusOr<MemoryInfo> {
    if (++asked > 1) return absl::UnavailableError("lost");
    return MemoryInfo{.free_bytes = 600 * kMiB};
  };
  const Observation seen =
      Run(*NewCommandTrialRunner(options), {.batch = 4, .reserve_bytes = 100 * kMiB});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_EQ(seen.method, "observer");
  EXPECT_THAT(seen.warnings, Contains(HasSubstr("its context")));
  EXPECT_EQ(seen.PeakReserved(), 300 * kMiB);
  EXPECT_EQ(seen.retries, 2);
  EXPECT_EQ(Text("seen"),
            absl::StrCat("/nonexistent/libobserver.so /nonexistent/other.so ", 500 * kMiB));
}

TEST_F(CommandTrialRunnerTest, ErrorForWantOfMemoryThatPythonSaw_IsNoGoodEnd) {
  const std::string then = absl::StrCat("with open(path, 'r+b') as file:\n  file.seek(",
                                        offsetof(ObservedDevices, python_errors),
                                        ")\n  file.write(struct.pack('q', 1))\n");
  const std::string path = "import os\npath = os.environ['AUTOBATCH_OBSERVER_FILE']\n";
  CommandTrialOptions options = OnGpu(
      Options({"python3", "-c", absl::StrCat(path, Observed("300 << 20", "2", then)), "{batch}"}));
  options.observer = "/nonexistent/libobserver.so";
  options.read_device_memory = [](const Device&) { return MemoryInfo{.free_bytes = 600 * kMiB}; };
  const Observation seen = Run(*NewCommandTrialRunner(options), {.batch = 4});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(seen.failure->requested_bytes, 64 * kMiB);
}

TEST_F(CommandTrialRunnerTest, SpeakerWhoseStepsTookNothingOfTheGpu_RanElsewhere) {
  const std::string nothing = absl::StrReplaceAll(
      kSpeaker, {{"'reserved_bytes': 1000 * trial['batch'], 'allocated_bytes': 1", ""}});
  CommandTrialOptions options =
      OnGpu(Options({"python3", "-c",
                     absl::StrCat(nothing, "for _ in range(trial['steps']): step()\nresult()\n")}));
  // The driver knows of a context, as the helper itself makes one.
  options.read_device_memory = [asked = 0](const Device&) mutable {
    return MemoryInfo{.free_bytes = (++asked == 1 ? 600 : 500) * kMiB};
  };
  EXPECT_TRUE(Run(*NewCommandTrialRunner(options), {.batch = 4}).ok()) << "nobody observed";
  options.observer = "/nonexistent/libobserver.so";
  const Observation seen = Run(*NewCommandTrialRunner(options), {.batch = 4});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kModelError);
  EXPECT_THAT(seen.failure->message, HasSubstr("ran elsewhere"));
}

TEST_F(CommandTrialRunnerTest, ContextOnceSeen_IsNotTheAllocatorsToTake) {
  CommandTrialOptions options = OnGpu(Options({"python3", "-c", Observed("9 << 20", "0", R"(
open('read').close()  # Until the driver was asked.
open('share', 'w').write(os.environ['PYTORCH_CUDA_ALLOC_CONF'])
)"),
                                               "{batch}"}));
  options.observer = "/nonexistent/libobserver.so";
  options.environment = {{"LD_PRELOAD", "other.so"}};
  options.read_device_memory = [this](const Device&) {
    const bool counts = std::filesystem::exists(folder_ + "/seen");
    // Nobody reads it yet, or any more: nothing to tell.
    if (counts) close(open((folder_ + "/read").c_str(), O_WRONLY | O_NONBLOCK));
    return MemoryInfo{.free_bytes = (counts ? 450 : 600) * kMiB};
  };
  ASSERT_EQ(mkfifo((folder_ + "/read").c_str(), 0600), 0);
  const auto runner = NewCommandTrialRunner(options);
  for (const int64_t allocators_mib : {500, 350}) {
    std::filesystem::remove(folder_ + "/seen");
    const Observation seen = Run(*runner, {.batch = 4, .reserve_bytes = 100 * kMiB});
    ASSERT_TRUE(seen.ok()) << seen.failure->message;
    EXPECT_EQ(seen.context_bytes, 150 * kMiB);
    EXPECT_EQ(seen.budget_bytes, 500 * kMiB) << "of both together";
    EXPECT_THAT(Text("seen"), HasSubstr(absl::StrCat(" ", allocators_mib * kMiB)));
    EXPECT_EQ(Text("share"), absl::StrCat("per_process_memory_fraction:0.", allocators_mib, "000"));
  }
}

TEST_F(CommandTrialRunnerTest, FailureAfterARefusal_IsOutOfMemoryWhateverItsWords) {
  CommandTrialOptions options = OnGpu(Options(
      {"python3", "-c", Observed("300 << 20", "1", "raise RuntimeError('no plan')\n"), "{batch}"}));
  options.observer = "/nonexistent/libobserver.so";
  const Observation seen = Run(*NewCommandTrialRunner(options), {.batch = 4});
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(seen.failure->message, HasSubstr("an allocation of 64.0 MiB was refused"));
  EXPECT_THAT(seen.failure->message, HasSubstr("no plan"));
  EXPECT_EQ(seen.failure->requested_bytes, 64 * kMiB);
}

TEST_F(CommandTrialRunnerTest, CommandThatRefusesThePreload_LeavesTheDriversView) {
  CommandTrialOptions options = OnGpu(Options({"true", "{batch}"}));
  options.observer = "/nonexistent/libobserver.so";
  EXPECT_EQ(Run(*NewCommandTrialRunner(options), {}).method, "driver");
}

TEST_F(CommandTrialRunnerTest, PyTorchWithoutTheFraction_RunsWithoutIt) {
  const Observation seen =
      Run(*NewCommandTrialRunner(OnGpu(Options(
              {"sh", "-c",
               "case \"$PYTORCH_CUDA_ALLOC_CONF\" in *fraction*) echo \"RuntimeError: Unrecognized "
               "CachingAllocator option: per_process_memory_fraction\" >&2; exit 1;; esac",
               "{batch}"}))),
          {.batch = 4});
  ASSERT_TRUE(seen.ok()) << seen.failure->message;
  EXPECT_THAT(seen.warnings, Contains(HasSubstr("not enforced")));
}

}  // namespace
}  // namespace autobatch
