#include "autobatch/trial/trial_transcript.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// Files of corpus/, by name: what a fuzzer starts from, and what it once found.
std::map<std::string, std::string> Corpus() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("autobatch/trial/corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

// The verdict on a text in pieces of `size` bytes.
std::string Verdict(const std::string& text, size_t size) {
  TrialTranscript transcript({}, std::nullopt);
  for (size_t at = 0; at < text.size(); at += size) {
    if (const absl::Status status = transcript.Append(text.substr(at, size), {}); !status.ok()) {
      return std::string(status.message());
    }
  }
  return absl::StrCat(transcript.steps().size(), " steps",
                      transcript.result().has_value() ? ", result" : "",
                      transcript.cut_short() ? ", cut short" : "");
}

TEST(TrialTranscriptTest, EachFileOfTheCorpus_HasItsVerdict) {
  const std::map<std::string, std::string> verdicts = {
      {"good_trial", "3 steps, result"},
      {"load_failure", "0 steps, result"},
      {"cut_short", "0 steps, cut short"},
      {"good_before_hello", "a good result before its hello"},
      {"step_before_hello", "a step before its hello"},
      {"skipped_step", "it reports step 2 where step 1 of 3 would come"},
      {"too_many_steps", "it reports step 4 where step 4 of 3 would come"},
      {"speaks_on", "it spoke on after its result"},
      {"second_hello", "a second hello"},
      {"old_version", "it speaks version 0, we speak version 1"},
      {"empty_hello", "an empty hello"},
      {"empty_step", "an empty step"},
      {"unknown_type", "goodbye"},
      {"wrong_field_type", "step.step: expected a whole number"},
      {"no_object", "expected an object"},
      {"deep_nesting", "not JSON"},
      {"huge_number", "in \"{"},
      {"blank_lines", "not JSON"},
      {"log_line", "in \"loss: 0.3\""},
      {"binary", "byte 0x00"},
      {"bad_utf8", "not JSON"},
  };
  const std::map<std::string, std::string> corpus = Corpus();
  EXPECT_EQ(corpus.size(), verdicts.size());
  for (const auto& [name, text] : corpus) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(verdicts.contains(name));
    const std::string whole = Verdict(text, text.size());
    EXPECT_THAT(whole, HasSubstr(verdicts.at(name)));
    for (size_t size = 1; size < text.size(); ++size) ASSERT_EQ(Verdict(text, size), whole) << size;
  }
}

TEST(TrialTranscriptTest, OtherDevice_IsRefusedBeforeItsSteps) {
  const Reply hello = {.type = ReplyType::kHello, .hello = Hello{.device_uuid = "GPU-ab"}};
  const Reply step = {.type = ReplyType::kStep, .step = StepObservation{.step = 1}};
  const std::string said = ToJson(hello) + "\n" + ToJson(step) + "\n";
  TrialTranscript ours({}, std::nullopt, "GPU-AB");
  EXPECT_TRUE(ours.Append(said, {}).ok());
  EXPECT_EQ(ours.steps().size(), 1u);
  TrialTranscript other({}, std::nullopt, "GPU-cd");
  EXPECT_EQ(other.Append(said, {}).message(), "it runs on GPU-ab instead of GPU-cd");
  EXPECT_TRUE(other.steps().empty());
}

TEST(TrialTranscriptTest, LaterTrialOfAProcess_NeedsNoHello) {
  TrialTranscript transcript({.steps = 0}, Hello{.pid = 7});
  ASSERT_TRUE(transcript.Append("{\"type\":\"result\",\"result\":{}}\n", {}).ok());
  EXPECT_TRUE(transcript.result().has_value());
}

TEST(TrialTranscriptTest, TrialThatMayGoOn_MayReportSoManySteps) {
  TrialTranscript transcript({.steps = 1, .most_steps = 2}, Hello{.pid = 7});
  const auto told = [&](int64_t number) {
    const Reply step = {.type = ReplyType::kStep, .step = StepObservation{.step = number}};
    return transcript.Append(ToJson(step) + "\n", {});
  };
  EXPECT_TRUE(told(1).ok());
  EXPECT_TRUE(told(2).ok());
  EXPECT_EQ(told(3).message(), "it reports step 3 where step 3 of 2 would come");
}

TEST(TrialTranscriptTest, FailedResultWithoutSteps_KeepsThoseHeard) {
  TrialTranscript transcript({}, Hello{.pid = 7});
  Reply step = {.type = ReplyType::kStep, .step = StepObservation{.step = 1}};
  Reply result = {.type = ReplyType::kResult, .result = Observation{.failure = Failure{}}};
  ASSERT_TRUE(transcript.Append(ToJson(step) + "\n" + ToJson(result) + "\n", {}).ok());
  EXPECT_EQ(transcript.result()->steps.size(), 1u);
}

TEST(TrialTranscriptTest, Progress_IsPhasesAndStepsOnly) {
  std::vector<ReplyType> told;
  TrialTranscript transcript({}, std::nullopt);
  ASSERT_TRUE(transcript
                  .Append(Corpus().at("good_trial"),
                          [&](const Reply& reply) { told.push_back(reply.type); })
                  .ok());
  EXPECT_EQ(told.size(), 5u);
  EXPECT_EQ(told.front(), ReplyType::kPhase);
  EXPECT_EQ(told.back(), ReplyType::kStep);
}

}  // namespace
}  // namespace autobatch
