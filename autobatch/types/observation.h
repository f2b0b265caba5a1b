#ifndef AUTOBATCH_TYPES_OBSERVATION_H_
#define AUTOBATCH_TYPES_OBSERVATION_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/failure.h"

namespace autobatch {

enum class TrialPurpose {
  kExplore,  // One more point of the memory curve, in a warm process.
  kConfirm,  // The answer itself, in a fresh process.
  kVerify,   // A cached answer, once more.
  kProfile,  // A size that a seed estimator asked for.
};
BOOST_DESCRIBE_ENUM(TrialPurpose, kExplore, kConfirm, kVerify, kProfile)

// One run of the workload at one batch.
struct TrialSpec {
  TrialPurpose purpose = TrialPurpose::kExplore;
  // Samples in each micro-step.
  int64_t batch = 1;
  // Optimizer steps. State is born in step 1, the peak is step 2.
  int64_t steps = 3;
  // Up to so many while the allocator comes to rest (settling.h says what that means); 0, exactly
  // `steps`. A process that is one of several has to keep step with the others, and ignores it.
  int64_t most_steps = 0;
  // Micro-steps in each optimizer step.
  int64_t accumulation = 1;
  // Start a new process for it.
  bool fresh_process = false;
  // Hold DDP's gradient buckets (4 bytes a parameter).
  bool gradient_buckets = false;
  // Samples of the evaluation step that follows; 0, none.
  int64_t evaluation_batch = 0;
  // The hard limit is the lesser of `limit_bytes` (absent: none) and what is free once the child's
  // context exists, less `reserve_bytes`, the sum of all margins.
  std::optional<int64_t> limit_bytes;
  int64_t reserve_bytes = 0;
  int64_t seed = 0;
};
BOOST_DESCRIBE_STRUCT(TrialSpec, (),
                      (purpose, batch, steps, most_steps, accumulation, fresh_process,
                       gradient_buckets, evaluation_batch, limit_bytes, reserve_bytes, seed))

// Greatest use of the workload's allocator, in bytes.
struct MemoryPeak {
  // What the allocator holds of the device: the number that a budget limits.
  int64_t reserved_bytes = 0;
  // What tensors occupy of it, rounded as the allocator rounds.
  int64_t allocated_bytes = 0;
  // What was asked for, unrounded; absent where the allocator does not keep it.
  std::optional<int64_t> requested_bytes;
};
BOOST_DESCRIBE_STRUCT(MemoryPeak, (), (reserved_bytes, allocated_bytes, requested_bytes))

// One optimizer step.
struct StepObservation {
  // From 1.
  int64_t step = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double optimizer_ms = 0;
  double step_ms = 0;
  MemoryPeak peak;
  // Times that the allocator gave its cache back and tried again, in this step.
  int64_t retries = 0;
  std::optional<double> loss;
};
BOOST_DESCRIBE_STRUCT(StepObservation, (),
                      (step, forward_ms, backward_ms, optimizer_ms, step_ms, peak, retries, loss))

// What a trial reports. Either `failure` is set, or every step ran.
struct Observation {
  TrialSpec trial;
  std::optional<Failure> failure;
  std::vector<StepObservation> steps;
  // Of step 1 (algorithm search included), and of the steps after it.
  std::optional<MemoryPeak> first_step;
  std::optional<MemoryPeak> steady;
  std::optional<MemoryPeak> evaluation;
  // The hard limit that was in force; absent where none could be set.
  std::optional<int64_t> budget_bytes;
  // The driver's (CUDA) or kernel's (CPU) view from the child.
  std::optional<int64_t> total_bytes;
  // `before`: with the context there and the allocator empty. `after`: with all that it still
  // holds.
  std::optional<int64_t> free_before_bytes;
  std::optional<int64_t> free_after_bytes;
  // Device memory that this process holds outside its allocator (context, kernels, libraries).
  std::optional<int64_t> context_bytes;
  // The batch dimension that the model really saw.
  std::optional<int64_t> batch_seen;
  // Processes of a command that trained on this device, as they said themselves; absent: none said.
  std::optional<int64_t> ranks;
  // Allocator retries over all steps, and from step 4 on (earlier ones are cache warm-up).
  int64_t retries = 0;
  int64_t late_retries = 0;
  // The peak still grew in the last step.
  bool unsettled = false;

  // Facts of the model.
  std::optional<int64_t> parameters;
  // Floating-point operations of one forward pass at this batch (a multiply-add counts 2).
  std::optional<double> forward_flops;
  // Shapes as "(16, 3, 224, 224)".
  std::vector<std::string> input_shapes;
  std::vector<std::string> output_shapes;

  // Medians over the steps after the first.
  std::optional<double> forward_ms;
  std::optional<double> backward_ms;
  std::optional<double> step_ms;
  // Wall time of the whole trial, and the child's greatest resident host memory.
  double trial_ms = 0;
  std::optional<int64_t> host_peak_bytes;
  // How it was observed: "worker" (ours), "python" (the helper in a script of one's own) or another
  // that speaks the trial protocol, "observer" (a command's allocations counted in its processes),
  // "driver" (a command watched from outside).
  std::string method;
  // What the user should know of a trial that ran all the same: files and processes left behind.
  std::vector<std::string> warnings;
  bool simulated = false;

  bool ok() const { return !failure.has_value(); }
  // Greatest reserved bytes over all phases; 0 when nothing was observed.
  int64_t PeakReserved() const;
  // Of the allocator's tensors and workspaces, without its cache; likewise.
  int64_t PeakAllocated() const;
  // Steps that ran or were begun; where nobody counted, those of a trial that ran are as asked.
  int64_t StepsRun() const;
};
BOOST_DESCRIBE_STRUCT(Observation, (),
                      (trial, failure, steps, first_step, steady, evaluation, budget_bytes,
                       total_bytes, free_before_bytes, free_after_bytes, context_bytes, batch_seen,
                       ranks, retries, late_retries, unsettled, parameters, forward_flops,
                       input_shapes, output_shapes, forward_ms, backward_ms, step_ms, trial_ms,
                       host_peak_bytes, method, warnings, simulated))

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_OBSERVATION_H_
