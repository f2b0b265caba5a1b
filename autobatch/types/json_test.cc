#include "autobatch/types/json.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>

#include "autobatch/types/report.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

NodeReport SampleReport() {
  NodeReport report;
  DeviceResult& result = report.devices.emplace_back();
  result.device = {.uuid = "GPU-1", .kind = DeviceKind::kMig, .name = "A \"card\""};
  result.device.memory.others.push_back({.pid = 7, .bytes = std::nullopt, .name = "python"});
  result.margins.push_back({.name = "headroom", .bytes = 1 << 28, .note = "2 %"});
  Observation& observation = result.observations.emplace_back();
  observation.trial.batch = 16;
  observation.failure = Failure{.kind = FailureKind::kOutOfMemory, .phase = TrialPhase::kBackward};
  observation.steps.push_back({.step = 1, .step_ms = 2.5, .loss = 6.9});
  return report;
}

TEST(JsonTest, WholeReport_SurvivesTheRoundTrip) {
  const std::string text = ToJson(SampleReport());
  const auto back = FromJson<NodeReport>(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), text);
  EXPECT_EQ(back->devices[0].observations[0].failure->kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(back->devices[0].device.memory.others[0].bytes, std::nullopt);
}

TEST(JsonTest, Text_IsWhatBoostMakesOfTheValue) {
  NodeReport report = SampleReport();
  std::string& name = report.devices[0].device.name;
  for (int c = 0; c < 256; ++c) name += static_cast<char>(c);
  report.devices.emplace_back();
  EXPECT_EQ(ToJson(report), boost::json::serialize(ToJsonValue(report)));
  EXPECT_EQ(ToJson(std::vector<StepObservation>()), "[]");
}

TEST(JsonTest, PrettyForm_IsTheSameValue) {
  const auto back = FromJson<NodeReport>(ToPrettyJson(SampleReport()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(SampleReport()));
}

TEST(JsonTest, UnknownAndMissingFields_AreTolerated) {
  const auto spec = FromJson<TrialSpec>(R"({"batch": 8, "from_the_future": [1]})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->batch, 8);
  EXPECT_EQ(spec->steps, 3);
}

TEST(JsonTest, WrongType_NamesThePath) {
  const auto report = FromJson<NodeReport>(R"({"devices":[{"margins":[{"bytes":"many"}]}]})");
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("devices[0].margins[0].bytes"));
  EXPECT_EQ(FromJson<TrialSpec>(R"({"batch": 1.5})").status().message(),
            "batch: expected a whole number, found double");
  EXPECT_EQ(FromJson<TrialSpec>("[]").status().message(),
            "the text: expected an object, found array");
  EXPECT_FALSE(FromJson<TrialSpec>(R"({"batch": 18446744073709551615})").ok());
  EXPECT_FALSE(FromJson<TrialSpec>(R"({"purpose": "guess"})").ok());
  EXPECT_FALSE(FromJson<TrialSpec>("[").ok());
}

TEST(JsonTest, NonFiniteNumber_BecomesNull) {
  StepObservation step;
  step.step_ms = std::nan("");
  step.loss = HUGE_VAL;
  EXPECT_THAT(ToJson(step), HasSubstr(R"("step_ms":null)"));
  const auto back = FromJson<StepObservation>(ToJson(step));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(back->step_ms));
  EXPECT_EQ(back->loss, std::nullopt);
}

TEST(JsonTest, Doubles_SurviveTheRoundTripToTheLastBit) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    StepObservation step;
    step.step_ms = std::bit_cast<double>(random());
    if (!std::isfinite(step.step_ms)) continue;
    const auto back = FromJson<StepObservation>(ToJson(step));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->step_ms, step.step_ms) << ToJson(step);
  }
  EXPECT_EQ(FromJson<StepObservation>(R"({"step_ms": 2.9629000000000003})")->step_ms,
            2.9629000000000003);
}

TEST(JsonParse, TextBeyondOrShortOfOneValue_IsRefused) {
  EXPECT_TRUE(ParseJson(" {\"a\": [1, 2.5, -3e2, \"x\\u00e9\", true, null]} \n").ok());
  EXPECT_FALSE(ParseJson("{} {}").ok());
  EXPECT_FALSE(ParseJson("{\"a\": ").ok());
  EXPECT_FALSE(ParseJson("").ok());
  EXPECT_FALSE(ParseJson("12 3").ok());
  EXPECT_EQ(ParseJson("[18446744073709551615]")->get_array()[0].get_uint64(),
            18446744073709551615u);
}

}  // namespace
}  // namespace autobatch
