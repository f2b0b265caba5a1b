#include "autobatch/search/search_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace autobatch {
namespace {

using testing::HasSubstr;

TEST(SearchOptionsTest, Defaults_AreValid) { EXPECT_TRUE(Validate({}).ok()); }

TEST(SearchOptionsTest, BadOnes_AreRefusedInWords) {
  const auto refused = [](void (*change)(SearchOptions&), const char* words) {
    SearchOptions options;
    change(options);
    const absl::Status status = Validate(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  refused([](SearchOptions& o) { o.precision = -0.01; }, "precision");
  refused([](SearchOptions& o) { o.precision = 0.51; }, "precision");
  refused([](SearchOptions& o) { o.precision = NAN; }, "precision");
  refused([](SearchOptions& o) { o.max_batch_bound = BatchBound::kMemory; }, "data set");
  refused([](SearchOptions& o) { o.explore_steps = 1; }, "explore steps 1");
  refused([](SearchOptions& o) { o.confirm_steps = 2; }, "confirm steps 2");
  refused([](SearchOptions& o) { o.accumulation = 0; }, "accumulation 0");
  refused([](SearchOptions& o) { o.evaluation_batch = -1; }, "evaluation batch -1");
  refused([](SearchOptions& o) { o.throughput_knee = 0; }, "throughput knee 0");
  refused([](SearchOptions& o) { o.throughput_knee = 1; }, "throughput knee 1");
}

}  // namespace
}  // namespace autobatch
