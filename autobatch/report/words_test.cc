#include "autobatch/report/words.h"

#include <gmock/gmock.h>

#include "autobatch/report/sample_report.h"

namespace autobatch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StatusWordsTest, EveryStatus_HasItsOwnWords) {
  DeviceResult result = PartialResult();
  EXPECT_EQ(StatusWords(result), "largest confirmed so far (time limit)");
  result.bound = BatchBound::kNone;
  EXPECT_EQ(StatusWords(result), "largest confirmed so far (ended early)");
  result.status = ResultStatus::kEstimated;
  EXPECT_EQ(StatusWords(result), "estimated, not run");
  result = ConfirmedResult(0, 8);
  EXPECT_EQ(StatusWords(result), "confirmed");
  result.from_cache = true;
  EXPECT_EQ(StatusWords(result), "confirmed (cached answer, verified)");
  EXPECT_EQ(StatusWords(FailedResult(0)), "no safe batch");
}

TEST(FailureWordsTest, WhatIsKnown_IsSaid) {
  EXPECT_EQ(FailureWords({.kind = FailureKind::kHostOutOfMemory, .signal = 9}),
            "host out of memory, signal 9");
  EXPECT_EQ(FailureWords({.kind = FailureKind::kCrashed, .step = 3, .exit_code = 2}),
            "crashed in step 3, exit code 2");
}

TEST(OthersBytesTest, OneUnknown_MakesTheSumUnknown) {
  Device device;
  EXPECT_EQ(OthersBytes(device), 0);
  device.memory.others = {{.pid = 1, .bytes = 5}, {.pid = 2, .bytes = 6}};
  EXPECT_EQ(OthersBytes(device), 11);
  device.memory.others.push_back({.pid = 3});
  EXPECT_EQ(OthersBytes(device), std::nullopt);
}

TEST(NodeSentencesTest, UnlikeGpus_NameTheOneThatSetTheMinimum) {
  EXPECT_THAT(NodeSentences(ReportOf({ConfirmedResult(0, 96), ConfirmedResult(1, 64)})),
              ElementsAre("Safe batch per GPU 64; global batch 64 × 2 devices = 128.",
                          "The minimum is set by cuda:1 (NVIDIA GeForce RTX 3090), limited by "
                          "memory: 68 did not fit.",
                          "Without it: batch per GPU 96; global batch 96 × 1 device = 96."));
}

TEST(NodeSentencesTest, TrialsOfAllDevices_SayWhichOneSetTheCommonAnswer) {
  NodeReport report = ReportOf({ConfirmedResult(0, 64), ConfirmedResult(1, 64)});
  report.scope = TrialScope::kNode;
  report.devices[0].bound = BatchBound::kOtherDevice;
  report.minimum_device = report.devices[1].device.uuid;
  report.minimum_without_it.reset();
  EXPECT_THAT(NodeSentences(report),
              ElementsAre("Each trial ran the command on all 2 devices at once.",
                          "Safe batch per GPU 64; global batch 64 × 2 devices = 128.",
                          "The minimum is set by cuda:1 (NVIDIA GeForce RTX 3090), limited by "
                          "memory: 68 did not fit."));
  EXPECT_EQ(BoundWords(report.devices[0]), "another device of the same trials");
}

TEST(NodeSentencesTest, WorldSizeOfTheJob_IsTheFactor) {
  NodeReport report = ReportOf({ConfirmedResult(0, 64)});
  report.world_size = 4;
  EXPECT_THAT(NodeSentences(report),
              ElementsAre("Safe batch per GPU 64; global batch 64 × 4 ranks = 256."));
}

TEST(NodeSentencesTest, Accumulation_IsAFactorOfTheGlobalBatch) {
  NodeReport report = ReportOf({ConfirmedResult(0, 64)});
  report.accumulation = 2;
  EXPECT_THAT(
      NodeSentences(report),
      ElementsAre("Safe batch per GPU 64; global batch 64 × 2 micro-steps × 1 device = 128."));
}

TEST(NodeSentencesTest, EndedSearch_IsNotCalledSafe) {
  EXPECT_THAT(NodeSentences(ReportOf({PartialResult()})),
              ElementsAre("Largest confirmed so far: batch per device 4; global batch 4 × 1 device "
                          "= 4."));
}

TEST(NodeSentencesTest, FailedDevice_IsNamedWithItsReason) {
  EXPECT_THAT(NodeSentences(ReportOf({ConfirmedResult(0, 96), FailedResult(1)})),
              Contains(HasSubstr("cuda:1 (NVIDIA GeForce RTX 3090) has none: model error")));
}

}  // namespace
}  // namespace autobatch
