#ifndef AUTOBATCH_MEMORY_BUDGET_H_
#define AUTOBATCH_MEMORY_BUDGET_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"

namespace autobatch {

// Names of the margins, in the order in which they are listed.
inline constexpr char kContextGrowth[] = "context_growth";
inline constexpr char kCommunicator[] = "communicator";
inline constexpr char kGradientBuckets[] = "gradient_buckets";
inline constexpr char kEvaluation[] = "evaluation";
inline constexpr char kFragmentation[] = "fragmentation";
inline constexpr char kHeadroom[] = "headroom";

struct BudgetOptions {
  DeviceKind device = DeviceKind::kCpu;
  // Absent where the driver does not tell: headroom is then its least number of bytes.
  std::optional<int64_t> total_bytes;
  // Ranks of the training that follows. One rank has no communicator and no gradient buckets.
  int64_t world_size = 1;
  // The user's cap on everything that training may use, margins included; absent, what is free.
  std::optional<int64_t> memory_limit_bytes;
  // The user's headroom, at most one of the two: bytes, or a fraction of the total in [0, 1).
  std::optional<int64_t> headroom_bytes;
  std::optional<double> headroom_fraction;
  // The confirming trial holds DDP's gradient buckets / runs the evaluation step, so that its peak
  // contains them and nothing need be held back.
  bool trials_carry_gradient_buckets = false;
  bool trials_run_evaluation = true;
  // Margins known better than by default, at most one a name: they replace the default and keep
  // their source (declared by the user, or measured elsewhere) and note. A measured context_growth
  // is only where the model starts: a trial that measures more replaces it.
  std::vector<Margin> given;
};

// What is held back from a workload on one device, and why. Learns from trials. A value, no
// threads.
//
//   AB_ASSIGN_OR_RETURN(BudgetModel budget, BudgetModel::Create(options));
//   trial.reserve_bytes = budget.ReserveBytes();
//   trial.limit_bytes = budget.LimitBytes();
//   ... run it ...
//   budget.Observe(observation);
class BudgetModel {
 public:
  // InvalidArgument: sizes or a world size that make no sense, an unknown margin (the nearest name
  // is offered), a margin given twice, both kinds of headroom, or headroom and a given margin of
  // it.
  static absl::StatusOr<BudgetModel> Create(BudgetOptions options);

  // Learns the growth of the context and the number of parameters. Failed trials teach nothing
  // about growth: they end in the middle of an allocation.
  void Observe(const Observation& observation);

  // All six, in the order above; a margin of 0 bytes is listed too, its note says why it is 0.
  std::vector<Margin> Margins() const;

  // Their sum.
  int64_t ReserveBytes() const;

  // The user's memory limit less the reserve, at least 0; absent without a limit.
  std::optional<int64_t> LimitBytes() const;

 private:
  explicit BudgetModel(BudgetOptions options) : options_(std::move(options)) {}

  Margin ContextGrowth() const;
  Margin Communicator() const;
  Margin GradientBuckets() const;
  Margin Evaluation() const;
  Margin Fragmentation() const;
  Margin Headroom() const;

  BudgetOptions options_;
  std::optional<int64_t> context_growth_bytes_;
  std::optional<int64_t> parameters_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_BUDGET_H_
