// What every plan keeps, whatever was asked for. A failure prints the seed that made it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"
#include "gtest/gtest.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/record.h"

namespace autobatch {
namespace {

using Wide = absl::int128;

constexpr int kCases = 1000;

struct Case {
  PlanRequest request;
  ClusterBatches cluster;
};

// Small numbers mostly, and some near the limits of 64 bits.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  int64_t From(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  bool OneIn(int64_t n) { return From(1, n) == 1; }
  // Each order of magnitude as often as any other.
  int64_t Samples() { return From(1, int64_t{1} << From(0, OneIn(8) ? 62 : 20)); }

  Case Next() {
    Case next;
    PlanRequest& request = next.request;
    request.rule = static_cast<GlobalBatchRule>(From(0, 2));
    next.cluster.world_size = From(1, OneIn(4) ? 200 : 17);
    next.cluster.minimum_batch = OneIn(3) ? Samples() : From(1, 100);
    if (request.rule == GlobalBatchRule::kLargest) {
      request.accumulation = OneIn(9) ? From(1, kMaxAccumulation) : From(1, 9);
    } else {
      request.global_batch = OneIn(3) ? Samples() : From(1, 2000);
    }
    if (request.rule == GlobalBatchRule::kBand) {
      request.band_percent = static_cast<double>(From(1, 5000)) / 100;
    }
    if (!OneIn(3)) request.min_world_size = From(1, next.cluster.world_size);
    if (!OneIn(3)) request.max_world_size = next.cluster.world_size + From(0, 9);
    if (OneIn(3)) {
      request.dataset_size = std::min(kMaxSamples, Samples());
      request.drop_last = OneIn(2);
    }
    if (OneIn(3)) {
      request.learning_rate = OneIn(2) ? LearningRateRule::kLinear : LearningRateRule::kSqrt;
      request.reference_batch = Samples();
    }
    if (OneIn(3)) {
      for (int64_t rank = 0; rank < next.cluster.world_size; ++rank) {
        const int64_t least = next.cluster.minimum_batch;
        next.cluster.shares.push_back(
            {absl::StrCat("GPU-", rank), From(least, std::min(kMaxSamples, least * 2))});
      }
    } else {
      request.model_parallel_size = OneIn(2) ? 1 : From(1, 8);
    }
    return next;
  }

 private:
  std::mt19937_64 engine_;
};

void CheckRow(const Case& drawn, const PlanRow& row) {
  const bool own = !row.devices.empty();
  ASSERT_EQ(row.world_size * drawn.request.model_parallel_size, row.processes);
  Wide ranks = 0;
  Wide samples = 0;
  double weights = 0;
  int64_t least = kMaxSamples;
  for (const PlanGroup& group : row.groups) {
    // Equal step counts, each rank at least one sample, no micro-batch above what is safe there.
    Wide steps = 0;
    Wide of_rank = 0;
    for (const MicroSteps& part : group.steps) {
      ASSERT_GE(part.count, 1);
      steps += part.count;
      of_rank += Wide(part.count) * part.micro_batch;
      weights += static_cast<double>(group.ranks) * static_cast<double>(part.count) *
                 static_cast<double>(part.micro_batch) * row.sample_weight;
      least = std::min(least, part.micro_batch);
      if (!own) ASSERT_LE(part.micro_batch, drawn.cluster.minimum_batch);
    }
    ASSERT_EQ(steps, row.accumulation);
    ASSERT_GE(of_rank, 1);
    if (own) {
      const auto first = static_cast<size_t>(ranks);
      for (size_t i = first; i < first + static_cast<size_t>(group.ranks); ++i) {
        ASSERT_LE(group.steps.front().micro_batch, drawn.cluster.shares[i].batch);
      }
    }
    ranks += group.ranks;
    samples += of_rank * group.ranks;
  }
  ASSERT_EQ(ranks, row.world_size);
  ASSERT_EQ(samples, row.global_batch);
  ASSERT_LE(row.global_batch, kMaxSamples);
  // The mean of the ranks' weighted means is the mean over all samples.
  ASSERT_NEAR(weights / static_cast<double>(row.world_size), 1, 1e-9);
  if (!own) ASSERT_LE(row.micro_batch - least, 1);
  if (drawn.request.rule == GlobalBatchRule::kExact) {
    ASSERT_EQ(row.global_batch, *drawn.request.global_batch);
  }
  if (drawn.request.dataset_size.has_value()) {
    const Wide taken = Wide(*row.steps_per_epoch - 1) * row.global_batch + *row.last_step_samples;
    ASSERT_LE(taken, *drawn.request.dataset_size);
    ASSERT_LT(*drawn.request.dataset_size - taken,
              drawn.request.drop_last ? row.global_batch : Wide(1));
  }
  ASSERT_TRUE(std::isfinite(row.lr_factor) && row.lr_factor > 0);
}

TEST(PlanProperty, EveryPlan_AddsUp) {
  std::random_device device;
  const uint64_t first = device();
  int64_t planned = 0;
  for (uint64_t seed = first; seed < first + kCases; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Case drawn = Draw(seed).Next();
    const absl::StatusOr<Plan> plan = MakePlan(drawn.request, drawn.cluster);
    if (!plan.ok()) {
      // Said in words, and never for a number that a row could have.
      ASSERT_FALSE(plan.status().message().empty());
      continue;
    }
    ++planned;
    for (const PlanRow& row : plan->rows) {
      ASSERT_NO_FATAL_FAILURE(CheckRow(drawn, row)) << ToJson(row);
      ASSERT_TRUE(ValidateRow(row, drawn.cluster.minimum_batch).ok())
          << ValidateRow(row, drawn.cluster.minimum_batch) << ToJson(row);
    }
    // Every world size has a row, or a reason.
    const int64_t least = drawn.request.min_world_size.value_or(drawn.cluster.world_size);
    const int64_t most = drawn.request.max_world_size.value_or(drawn.cluster.world_size);
    int64_t told = static_cast<int64_t>(plan->rows.size());
    for (const Unserved& unserved : plan->unserved) told += unserved.last - unserved.first + 1;
    ASSERT_EQ(told, most - least + 1);
    // The same input, the same bytes; and JSON gives them back.
    const std::string text = ToJson(*plan);
    ASSERT_EQ(ToJson(*MakePlan(drawn.request, drawn.cluster)), text);
    ASSERT_EQ(ToJson(*FromJson<Plan>(text)), text);
  }
  EXPECT_GT(planned, kCases / 4) << "seeds from " << first;
}

TEST(PlanProperty, EveryRecordThatIsMade_ReadsBack) {
  std::random_device device;
  const uint64_t first = device();
  const DigestFunction digest = [](absl::string_view bytes) {
    return absl::StrCat(std::hash<std::string_view>()({bytes.data(), bytes.size()}));
  };
  int64_t made = 0;
  for (uint64_t seed = first; seed < first + kCases / 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Case drawn = Draw(seed).Next();
    const absl::StatusOr<Record> record = MakeRecord({.run_id = "run",
                                                      .round = 1,
                                                      .autobatch_version = "0.1.0",
                                                      .minimum_batch = drawn.cluster.minimum_batch,
                                                      .minimum_node = "node",
                                                      .minimum_device = "GPU-0",
                                                      .world_size = drawn.cluster.world_size,
                                                      .request = drawn.request},
                                                     drawn.cluster.shares, digest);
    ASSERT_EQ(record.ok(), MakePlan(drawn.request, drawn.cluster).ok()) << record.status();
    if (!record.ok()) continue;
    ++made;
    const absl::StatusOr<Record> back = ReadRecord(RecordText(*record), digest);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(RecordText(*back), RecordText(*record));
  }
  EXPECT_GT(made, kCases / 16) << "seeds from " << first;
}

}  // namespace
}  // namespace autobatch
