// A command on two devices at once.

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/trial/command_trial_fixture.h"
#include "autobatch/trial/command_trial_runner.h"

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two ranks in one program: rank 1 is on the first device, as it says, and holds more.
constexpr char kRanks[] = R"(
import json, os
requests = os.fdopen(int(os.environ['AUTOBATCH_REQUEST_FD']))
setup, asked = (json.loads(line) for line in requests)
report = os.fdopen(int(os.environ['AUTOBATCH_REPORT_FD']), 'w', buffering=1)
trial, devices = asked['trial'], asked['devices']
def rank(number, uuid, peak, world=2, **more):
    say = lambda **reply: print(json.dumps(dict(reply, rank=number, world_size=world)), file=report)
    say(type='hello', hello={'protocol': 1, 'pid': os.getpid(), 'device_uuid': uuid})
    steps = [{'step': n + 1, 'step_ms': 1.5, 'peak': {'reserved_bytes': peak << 20}}
             for n in range(trial['steps'])]
    for step in steps:
        say(type='step', step=step)
    limit = next(d for d in devices if d['uuid'] == uuid)
    result = {'steps': steps, 'method': 'python', 'batch_seen': trial['batch'],
              'steady': steps[-1]['peak'], 'budget_bytes': limit['limit_bytes'], **more}
    say(type='result', result=result)
)";

class CommandTrialRunnerNodeTest : public CommandTrialFixture {
 protected:
  CommandTrialOptions OnTwo(std::vector<std::string> command) const {
    CommandTrialOptions options = Options(std::move(command));
    options.devices = {
        Device{.uuid = "GPU-a", .kind = DeviceKind::kCuda, .address = "cuda:0"},
        Device{.uuid = "GPU-b", .kind = DeviceKind::kCuda, .address = "cuda:1"},
    };
    options.devices[0].memory.total_bytes = 1000 * kMiB;
    options.devices[1].memory.total_bytes = 2000 * kMiB;
    options.read_device_memory = [](const Device& device) -> absl::StatusOr<MemoryInfo> {
      return MemoryInfo{.free_bytes = *device.memory.total_bytes - 200 * kMiB};
    };
    options.world_size = 2;
    return options;
  }
  NodeObservation Run(const CommandTrialOptions& options) const {
    const TrialSpec specs[] = {
        {.batch = 4, .limit_bytes = 700 * kMiB, .reserve_bytes = 100 * kMiB},
        {.batch = 4, .limit_bytes = 900 * kMiB, .reserve_bytes = 50 * kMiB},
    };
    auto seen = NewNodeTrialRunner(options)->Run(specs, kNever, {});
    EXPECT_TRUE(seen.ok()) << seen.status();
    return seen.ok() ? *std::move(seen) : NodeObservation{.devices = {2, Observation()}};
  }
  NodeObservation Ranks(const std::string& script) const {
    return Run(OnTwo({"python3", "-c", absl::StrCat(kRanks, script)}));
  }
};

TEST_F(CommandTrialRunnerNodeTest, Command_SeesAllDevicesAndOneShareForThem) {
  const NodeObservation seen = Run(OnTwo(
      {"sh", "-c",
       "printf '%s %s %s' \"$CUDA_VISIBLE_DEVICES\" \"$PYTORCH_CUDA_ALLOC_CONF\" {device} > seen; "
       "printf %s {global_batch} > global",
       "{batch}"}));
  EXPECT_EQ(Text("seen"), "GPU-a,GPU-b per_process_memory_fraction:0.700000 cuda");
  EXPECT_EQ(Text("global"), "8");
  EXPECT_TRUE(seen.devices[0].ok());
  EXPECT_EQ(seen.devices[0].budget_bytes, 700 * kMiB);
  EXPECT_EQ(seen.devices[1].budget_bytes, 900 * kMiB);
  EXPECT_EQ(seen.devices[1].free_before_bytes, 1800 * kMiB);
}

TEST_F(CommandTrialRunnerNodeTest, EveryRank_IsObservedOnItsDeviceWithItsLimits) {
  const NodeObservation seen = Ranks("rank(0, 'GPU-b', 300)\nrank(1, 'GPU-a', 500)\n");
  ASSERT_TRUE(seen.devices[0].ok()) << seen.devices[0].failure->message;
  EXPECT_EQ(seen.devices[0].PeakReserved(), 500 * kMiB);
  EXPECT_EQ(seen.devices[0].budget_bytes, 700 * kMiB);
  EXPECT_EQ(seen.devices[0].trial.reserve_bytes, 100 * kMiB);
  EXPECT_EQ(seen.devices[1].PeakReserved(), 300 * kMiB);
  EXPECT_EQ(seen.devices[1].budget_bytes, 900 * kMiB);
  EXPECT_EQ(seen.devices[1].trial.reserve_bytes, 50 * kMiB);
  EXPECT_EQ(seen.devices[1].method, "python");
  EXPECT_THAT(seen.devices[0].warnings, ElementsAre());
}

TEST_F(CommandTrialRunnerNodeTest, RankWithAnotherBatch_FailsAllAndIsNamed) {
  const NodeObservation seen =
      Ranks("rank(0, 'GPU-a', 300)\nrank(1, 'GPU-b', 300, batch_seen=2)\n");
  EXPECT_EQ(seen.failed, 1u);
  ASSERT_FALSE(seen.devices[0].ok());
  EXPECT_EQ(seen.devices[0].failure->kind, FailureKind::kBatchIgnored);
  EXPECT_THAT(seen.devices[0].failure->message, HasSubstr("cuda:1: "));
  EXPECT_THAT(seen.devices[0].failure->message, HasSubstr("2"));
}

TEST_F(CommandTrialRunnerNodeTest, RankOutOfMemory_EndsTheTrialAndNamesItsDevice) {
  const NodeObservation seen = Ranks(
      "rank(1, 'GPU-b', 300, failure={'kind': 'out_of_memory', 'message': 'tried 2 GiB'})\n"
      "import signal; signal.pause()\n");
  EXPECT_EQ(seen.failed, 1u);
  EXPECT_EQ(seen.devices[0].failure->message, "cuda:1: rank 1: tried 2 GiB");
  EXPECT_EQ(seen.devices[1].failure->kind, FailureKind::kOutOfMemory);
}

TEST_F(CommandTrialRunnerNodeTest, SilentRankWithAnIdleDevice_FailsTheTrial) {
  const NodeObservation seen = Ranks("rank(0, 'GPU-a', 300)\n");
  EXPECT_EQ(seen.failed, 1u);
  EXPECT_THAT(seen.devices[0].failure->message, HasSubstr("cuda:1: nothing ran there"));
  EXPECT_THAT(seen.devices[0].warnings, Contains(HasSubstr("only 1 of 2 ranks reported (not 1)")));
}

TEST_F(CommandTrialRunnerNodeTest, MoreRanksThanDevices_ShareThemAndAreCounted) {
  const NodeObservation seen =
      Ranks("rank(0, 'GPU-a', 100, 3)\nrank(1, 'GPU-b', 100, 3)\nrank(2, 'GPU-a', 150, 3)\n");
  ASSERT_TRUE(seen.devices[0].ok()) << seen.devices[0].failure->message;
  EXPECT_EQ(seen.devices[0].PeakReserved(), 250 * kMiB);
  EXPECT_EQ(seen.devices[0].ranks, 2);
  EXPECT_THAT(seen.devices[0].warnings, Contains(HasSubstr("3 ranks reported from 2 devices")));
}

// Stands for a program with the observer in it: it writes what that would count of each device
// (budget, processes, held, peak, refusals, refused, ended).
constexpr char kObserved[] = R"(
import os, struct
with open(os.environ.pop('AUTOBATCH_OBSERVER_FILE'), 'r+b') as file:
    words = list(struct.unpack('14q', file.read(14 * 8)))
    open('budgets', 'w').write('%d %d' % (words[0] >> 20, words[7] >> 20))
    for device, peak, refusals in OBSERVED:
        words[7 * device + 1: 7 * device + 6] = [1, 0, peak << 20, refusals, 64 << 20]
    file.seek(0)
    file.write(struct.pack('14q', *words))
)";

TEST_F(CommandTrialRunnerNodeTest, Observer_CountsEachDeviceUnderItsOwnBudget) {
  CommandTrialOptions options =
      OnTwo({"python3", "-c", absl::StrCat("OBSERVED = [(0, 300, 0), (1, 400, 0)]\n", kObserved),
             "{batch}"});
  options.observer = "/nonexistent/libobserver.so";
  const NodeObservation seen = Run(options);
  ASSERT_TRUE(seen.devices[0].ok()) << seen.devices[0].failure->message;
  EXPECT_EQ(Text("budgets"), "700 900");
  EXPECT_EQ(seen.devices[0].PeakReserved(), 300 * kMiB);
  EXPECT_EQ(seen.devices[1].PeakReserved(), 400 * kMiB);
  EXPECT_EQ(seen.devices[1].method, "observer");
}

TEST_F(CommandTrialRunnerNodeTest, RefusalOnOneDevice_IsThatDevicesOutOfMemory) {
  CommandTrialOptions options = OnTwo(
      {"python3", "-c",
       absl::StrCat("OBSERVED = [(0, 600, 0), (1, 100, 1)]\n", kObserved, "raise KeyError(1)\n"),
       "{batch}"});
  options.observer = "/nonexistent/libobserver.so";
  const NodeObservation seen = Run(options);
  EXPECT_EQ(seen.failed, 1u);
  ASSERT_FALSE(seen.devices[0].ok());
  EXPECT_EQ(seen.devices[0].failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(seen.devices[0].failure->message,
              HasSubstr("cuda:1: an allocation of 64.0 MiB was refused"));
}

}  // namespace
}  // namespace autobatch
