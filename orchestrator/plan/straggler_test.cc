#include "orchestrator/plan/straggler.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autobatch/base/units.h"
#include "autobatch/types/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceOutcome Card(const std::string& address, int64_t batch) {
  return {.uuid = "GPU-" + address,
          .address = address,
          .name = "NVIDIA A100",
          .total_bytes = 80 * kGiB,
          .status = ResultStatus::kConfirmed,
          .batch = batch,
          .bound = BatchBound::kMemory};
}

std::vector<NodeOutcomes> TwoNodes() {
  return {{"node-a", {Card("cuda:0", 77), Card("cuda:1", 77)}},
          {"node-b", {Card("cuda:0", 77), Card("cuda:1", 77)}}};
}

StragglerReport Find(const std::vector<NodeOutcomes>& nodes) {
  const absl::StatusOr<StragglerReport> report = FindStraggler(nodes);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(StragglerReport{});
}

TEST(Straggler, EqualDevices_HaveNone) {
  const StragglerReport report = Find(TwoNodes());
  EXPECT_EQ(report.cause, StragglerCause::kNone);
  EXPECT_EQ(report.devices_at_minimum, 4);
  EXPECT_EQ(report.now.samples, 308);
  EXPECT_FALSE(report.without_minimum.has_value());
  EXPECT_THAT(StragglerText(report), HasSubstr("No device holds the others back"));
}

TEST(Straggler, AnotherProcess_IsNamedWithItsBytes) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[1].devices[1].batch = 24;
  nodes[1].devices[1].others = {{.pid = 4711, .bytes = 9 * kGiB, .name = "python"}};
  const StragglerReport report = Find(nodes);
  EXPECT_EQ(report.cause, StragglerCause::kOtherProcesses);
  EXPECT_EQ(report.node, "node-b");
  EXPECT_EQ(report.device.address, "cuda:1");
  EXPECT_THAT(report.reason, HasSubstr("python (pid 4711) with 9.00 GiB"));
  EXPECT_THAT(report.reason, HasSubstr("node-a cuda:0 (NVIDIA A100) takes 77"));
  EXPECT_EQ(report.now.samples, 96);
  EXPECT_EQ(report.without_device->samples, 231);
  EXPECT_EQ(report.without_node->samples, 154);
  EXPECT_EQ(report.samples_with_shares, 255);
}

TEST(Straggler, ProcessWhoseBytesAreNotTold_IsNamedWithoutThem) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[0].batch = 24;
  nodes[0].devices[0].others = {{.pid = 7, .bytes = std::nullopt, .name = ""}};
  const StragglerReport report = Find(nodes);
  EXPECT_EQ(report.cause, StragglerCause::kOtherProcesses);
  EXPECT_THAT(report.reason, HasSubstr("a process (pid 7);"));
}

TEST(Straggler, SmallerDevice_IsComparedWithTheLargerOne) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  for (DeviceOutcome& device : nodes[1].devices) {
    device.name = "NVIDIA A10";
    device.total_bytes = 24 * kGiB;
    device.batch = 20;
  }
  const StragglerReport report = Find(nodes);
  EXPECT_EQ(report.cause, StragglerCause::kSmallerDevice);
  EXPECT_EQ(report.device.address, "cuda:0");
  EXPECT_EQ(report.devices_at_minimum, 2);
  EXPECT_THAT(report.reason, HasSubstr("it has 24.00 GiB"));
  EXPECT_THAT(report.reason, HasSubstr("with 80.00 GiB"));
  // One of two alike does not matter; both do.
  EXPECT_EQ(report.without_device->samples, 60);
  EXPECT_EQ(report.without_minimum->samples, 154);
  const std::string text = StragglerText(report);
  EXPECT_THAT(text, HasSubstr("The minimum, 20, is set by node-b cuda:0 (NVIDIA A10)"));
  EXPECT_THAT(text, HasSubstr("2 devices take no more than that"));
  EXPECT_THAT(text, HasSubstr("without node-b: 77 × 2 devices = 154 samples"));
  EXPECT_THAT(text, HasSubstr("with a share for each device: 194 samples"));
}

TEST(Straggler, Failure_IsToldBeforeAnythingElse) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[1].devices[0].batch = 0;
  nodes[0].devices[0].batch = 0;
  nodes[0].devices[0].status = ResultStatus::kFailed;
  nodes[0].devices[0].failure = FailureKind::kIllegalAccess;
  nodes[0].devices[0].message = "device lost\x1b[2J";
  StragglerReport report = Find(nodes);
  EXPECT_EQ(report.cause, StragglerCause::kFailure);
  EXPECT_EQ(report.node, "node-a");
  EXPECT_EQ(report.reason, "illegal access: device lost\\x1b[2J");
  EXPECT_EQ(report.now.samples, 0);
  EXPECT_EQ(report.without_minimum->samples, 154);
  nodes[0].devices[0].message.clear();
  EXPECT_EQ(Find(nodes).reason, "it has no safe batch");
}

TEST(Straggler, OfSeveral_TheOneWithTheBestReasonIsNamed) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[0].name = "NVIDIA A10";
  nodes[0].devices[0].total_bytes = 24 * kGiB;
  nodes[0].devices[0].batch = 20;
  nodes[1].devices[0].batch = 20;
  nodes[1].devices[0].others = {{.pid = 7, .bytes = 50 * kGiB, .name = "python"}};
  EXPECT_EQ(Find(nodes).cause, StragglerCause::kOtherProcesses);
  EXPECT_EQ(Find(nodes).node, "node-b");
  EXPECT_EQ(Find(nodes).devices_at_minimum, 2);
}

TEST(Straggler, EqualDevice_IsTheBestComparison) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[0].name = "NVIDIA H100";
  nodes[0].devices[0].batch = 90;
  nodes[1].devices[1].batch = 24;
  nodes[1].devices[1].others = {{.pid = 7, .bytes = 9 * kGiB, .name = "python"}};
  EXPECT_THAT(Find(nodes).reason, HasSubstr("node-a cuda:1 (NVIDIA A100) takes 77"));
}

TEST(Straggler, SearchThatWasCutShort_IsAFailure) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[1].batch = 16;
  nodes[0].devices[1].status = ResultStatus::kPartial;
  nodes[0].devices[1].message = "time limit of 120 s";
  const StragglerReport report = Find(nodes);
  EXPECT_EQ(report.cause, StragglerCause::kFailure);
  EXPECT_THAT(report.reason, HasSubstr("ended before it was done: time limit of 120 s"));
}

TEST(Straggler, LimitThatIsNotMemory_IsNamed) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[1].batch = 16;
  nodes[0].devices[1].bound = BatchBound::kMaxBatch;
  EXPECT_EQ(Find(nodes).cause, StragglerCause::kOtherLimit);
  EXPECT_THAT(Find(nodes).reason, HasSubstr("limited by max batch, not by memory"));
}

TEST(Straggler, EqualDeviceWithoutAReason_IsSaidToBeUnexplained) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[1].batch = 76;
  nodes[0].devices[1].total_bytes = 79 * kGiB;
  EXPECT_EQ(Find(nodes).cause, StragglerCause::kUnknown);
}

TEST(Straggler, OrderOfNodes_DoesNotMatter) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[1].batch = 16;
  nodes[1].devices[0].batch = 16;
  const std::string first = ToJson(Find(nodes));
  std::reverse(nodes.begin(), nodes.end());
  for (NodeOutcomes& node : nodes) std::reverse(node.devices.begin(), node.devices.end());
  EXPECT_EQ(ToJson(Find(nodes)), first);
}

TEST(Straggler, OneDevice_HasNothingBesideIt) {
  const StragglerReport report = Find({{"node-a", {Card("cuda:0", 77)}}});
  EXPECT_EQ(report.cause, StragglerCause::kNone);
  EXPECT_FALSE(report.without_device.has_value());
  EXPECT_FALSE(report.without_node.has_value());
}

TEST(Straggler, NoDevices_IsAnError) {
  EXPECT_FALSE(FindStraggler({}).ok());
  EXPECT_FALSE(FindStraggler(std::vector<NodeOutcomes>{{"node-a", {}}}).ok());
}

TEST(Straggler, HugeBatches_DoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  std::vector<NodeOutcomes> nodes = TwoNodes();
  for (NodeOutcomes& node : nodes) {
    for (DeviceOutcome& device : node.devices) device.batch = kMost;
  }
  EXPECT_EQ(Find(nodes).now.samples, kMost);
  EXPECT_EQ(Find(nodes).samples_with_shares, kMost);
}

TEST(Straggler, SimulatedDevices_AreMarked) {
  std::vector<NodeOutcomes> nodes = TwoNodes();
  nodes[0].devices[0].simulated = true;
  nodes[0].devices[0].batch = 5;
  EXPECT_TRUE(Find(nodes).simulated);
  EXPECT_THAT(StragglerText(Find(nodes)), HasSubstr("(NVIDIA A100, simulated)"));
  EXPECT_THAT(StragglerText(Find(nodes)), Not(HasSubstr("\x1b")));
  DeviceOutcome alone = Card("cuda:0", 77);
  alone.simulated = true;
  EXPECT_THAT(StragglerText(Find({{"node-a", {alone}}})), HasSubstr("devices are simulated"));
}

}  // namespace
}  // namespace autobatch
