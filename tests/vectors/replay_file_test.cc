#include "tests/vectors/replay_file.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

struct Replay {
  ReplayCounts counts;
  std::string out;
  std::string error;
};

Replay RunFile(const std::string& path) {
  Replay replay;
  std::ostringstream out;
  std::ostringstream error;
  ReplayFile(path, out, error, replay.counts);
  replay.out = out.str();
  replay.error = error.str();
  return replay;
}

Replay RunText(const std::string& text) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/vectors.jsonl";
  std::ofstream(path) << text;
  return RunFile(path);
}

constexpr char kVisible[] =
    R"({"cuda_visible_devices": "1,0", "physical_uuids": ["GPU-a", "GPU-b"], "visible_ordinals": [1, 0]})";

std::string Line(const std::string& changed_from = "", const std::string& to = "") {
  std::string line =
      R"({"id": "case-1", "algorithm": "yolov5-7.0", "entry": "autobatch", "batch_arg": null, )"
      R"("imgsz": 640, "total_bytes": 25769803776, "reserved_bytes": 0, "allocated_bytes": 0, )"
      R"("fraction": 0.8, "batch_sizes": [1, 2, 4, 8, 16], "memory_gib": [3.5, 4.0, 5.0, 7.0, 11.0], )"
      R"("profile_error": null, "default_batch": 16, "cudnn_benchmark": false, "device": "cuda:0", )"
      R"("cuda_visible_devices": null, "profile_called": true, "profile_n": 3, "expected_batch": 32, )"
      R"("expected_error": null, "expected_log": [)"
      R"("AutoBatch: Computing optimal batch size for --imgsz 640", )"
      R"("AutoBatch: CUDA:0 (Oracle GPU) 24.00G total, 0.00G reserved, 0.00G allocated, 24.00G free", )"
      R"("AutoBatch: Using batch-size 32 for CUDA:0 19.00G/24.00G (79%) ✅"], )"
      R"("expected_log_levels": ["INFO", "INFO", "INFO"], "batch_fragile": false, "log_fragile": false})";
  if (!changed_from.empty()) {
    const size_t at = line.find(changed_from);
    EXPECT_NE(at, std::string::npos) << changed_from;
    line.replace(at, changed_from.size(), to);
  }
  return line;
}

class GivenFile : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(GivenFile, EveryVector_IsAnsweredAsObserved) {
  const Replay replay = RunFile(std::string("tests/vectors/data/") + GetParam().first);
  EXPECT_EQ(replay.counts.passed, GetParam().second);
  EXPECT_EQ(replay.counts.failed, 0) << replay.out;
  EXPECT_EQ(replay.counts.unreadable, 0) << replay.error;
}

INSTANTIATE_TEST_SUITE_P(Vectors, GivenFile,
                         ::testing::Values(std::pair("yolov5.jsonl", 126),
                                           std::pair("ultralytics.jsonl", 145),
                                           std::pair("ultralytics_8_4.jsonl", 149),
                                           std::pair("profile_units_yolov5.jsonl", 9),
                                           std::pair("profile_units_ultralytics.jsonl", 9),
                                           std::pair("cuda_visible_devices.jsonl", 43),
                                           std::pair("deepspeed_elasticity.jsonl", 45)));

TEST(Replay, VectorsOfDifferentForms_MayShareAFile) {
  const Replay replay = RunText(Line() + "\n\n" + kVisible + "\n");
  EXPECT_EQ(replay.counts.passed, 2) << replay.out << replay.error;
  EXPECT_EQ(replay.counts.unreadable, 0) << replay.error;
}

struct Changed {
  const char* from;
  const char* to;
  const char* says;
};

TEST(Replay, EachExpectation_IsCompared) {
  for (const Changed& changed : {
           Changed{R"("expected_batch": 32)", R"("expected_batch": 33)", "case-1: expected_batch"},
           Changed{R"("expected_batch": 32)", R"("expected_batch": null)",
                   "case-1: expected_error"},
           Changed{"19.00G", "19.01G", "case-1: expected_log"},
           Changed{R"(["INFO", "INFO")", R"(["INFO", "WARNING")", "expected_log_levels"},
           Changed{R"("profile_n": 3)", R"("profile_n": 1)", "profile_n"},
           Changed{R"("profile_called": true)", R"("profile_called": false)", "profile_called"},
           Changed{"[1, 2, 4, 8, 16]", "[1, 2, 4, 8, 32]", "batch_sizes"},
       }) {
    const Replay replay = RunText(Line(changed.from, changed.to));
    EXPECT_EQ(replay.counts.failed, 1) << changed.from << replay.error;
    EXPECT_THAT(replay.out, HasSubstr(changed.says));
  }
}

std::string Elastic(const std::string& answer) {
  return R"({"id": "elastic-1", "elasticity": {"enabled": true, "max_train_batch_size": 64, )"
         R"("micro_batch_sizes": [1], "version": 0.1, "max_gpus": 6}, "world_size": 6, )"
         R"("return_microbatch": false, "error": null, "returned_values": 3, )" +
         answer + "}";
}

TEST(Replay, ElasticBatch_IsComparedWithItsGpusAndMicroBatch) {
  const auto says = [](int batch, const char* gpus, int micro_batch) {
    return RunText(Elastic(absl::StrCat(R"("final_batch_size": )", batch, R"(, "valid_gpus": )",
                                        gpus, R"(, "micro_batch": )", micro_batch)))
        .out;
  };
  EXPECT_EQ(says(60, "[1, 2, 3, 4, 5, 6]", 1), "");
  EXPECT_THAT(says(48, "[1, 2, 3, 4, 5, 6]", 1), HasSubstr("elastic-1: final_batch_size"));
  EXPECT_THAT(says(60, "[1, 2, 3, 6]", 1), HasSubstr("elastic-1: valid_gpus"));
  EXPECT_THAT(says(60, "[1, 2, 3, 4, 5, 6]", 2), HasSubstr("elastic-1: micro_batch"));
  // An answer that no job can be started with asks for an error.
  EXPECT_THAT(says(0, "[6]", 1), HasSubstr("elastic-1: error"));
  EXPECT_THAT(says(65, "[6]", 1), HasSubstr("elastic-1: error"));
  EXPECT_THAT(says(60, "null", 1), HasSubstr("elastic-1: error"));
}

TEST(Replay, FragileAnswer_IsNotCompared) {
  std::string line = Line(R"("expected_batch": 32)", R"("expected_batch": 33)");
  line.replace(line.find(R"("batch_fragile": false, "log_fragile": false)"), 44,
               R"("batch_fragile": true, "log_fragile": true)");
  EXPECT_EQ(RunText(line).counts.passed, 1);
}

TEST(Replay, DifferenceWithoutId_IsNamedByItsLine) {
  const std::string wrong =
      R"({"cuda_visible_devices": "0", "physical_uuids": ["GPU-a"], "visible_ordinals": []})";
  const Replay replay = RunText(std::string(kVisible) + "\n" + wrong);
  EXPECT_EQ(replay.counts.passed, 1);
  EXPECT_EQ(replay.counts.failed, 1);
  EXPECT_THAT(replay.out, HasSubstr("vectors.jsonl:2: visible_ordinals"));
  EXPECT_THAT(replay.out, HasSubstr("expected []\n  ours     [0]"));
}

TEST(Replay, WhatCannotBeRead_IsNamedByFileAndLine) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"{\n", "vectors.jsonl:1: not JSON"},
           {"[1]", "vectors.jsonl:1: not a JSON object"},
           {R"({"elastic": {}})", "vectors.jsonl:1: unknown form"},
           {R"({"elasticity": {}})", "field 'world_size' is missing"},
           {Line("yolov5-7.0", "yolov4"), "unknown algorithm 'yolov4'"},
           {Line("yolov5-7.0", "ultralytics-8.4.190"), "'mem_get_info_free_bytes' is missing"},
           {Line(R"("imgsz": 640, )", ""), "field 'imgsz' is missing"},
           {Line(R"("imgsz": 640)", R"("imgsz": "big")"), "imgsz: expected a whole number"},
           {Line(R"("entry": "autobatch")", R"("entry": "other")"), "unknown entry 'other'"},
           {Line("[3.5, 4.0, 5.0, 7.0, 11.0]", "[3.5]"), "differ in length"},
           {Line("[3.5, 4.0, 5.0, 7.0, 11.0]", "null"), "neither memory_gib nor profile_error"},
           {"\n", "no vectors"},
       }) {
    const Replay replay = RunText(text);
    EXPECT_EQ(replay.counts.unreadable, 1) << text;
    EXPECT_EQ(replay.counts.passed + replay.counts.failed, 0) << text;
    EXPECT_THAT(replay.error, HasSubstr(says));
  }
}

TEST(Replay, LinesAfterAnUnreadableOne_AreStillReplayed) {
  const Replay replay = RunText(std::string("{\n") + kVisible);
  EXPECT_EQ(replay.counts.unreadable, 1);
  EXPECT_EQ(replay.counts.passed, 1);
}

TEST(Replay, FileOrFolderThatCannotBeRead_IsNamed) {
  EXPECT_THAT(RunFile("/nonexistent/x").error, HasSubstr("/nonexistent/x: cannot open"));
  EXPECT_EQ(RunFile(std::getenv("TEST_TMPDIR")).counts.unreadable, 1);
}

}  // namespace
}  // namespace autobatch
