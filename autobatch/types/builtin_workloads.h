#ifndef AUTOBATCH_TYPES_BUILTIN_WORKLOADS_H_
#define AUTOBATCH_TYPES_BUILTIN_WORKLOADS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// What is known of a built-in model without running it. A size of 0: the model has no such option.
struct BuiltinWorkload {
  absl::string_view name;
  // One line for --help.
  absl::string_view description;
  // Parameters at the default sizes, as published.
  int64_t parameters = 0;

  // Its default sizes, as in WorkloadSpec.
  int64_t image_size = 0;
  int64_t sequence_length = 0;
  int64_t classes = 0;
  int64_t max_objects = 0;

  // The image size must be a multiple of this: the patch, or the greatest stride.
  int64_t image_multiple = 1;
  // Below it, batch-norm has a single value a channel at batch 1 and cannot train.
  int64_t min_image_size = 1;
  // Positions that the model has.
  int64_t max_sequence_length = 0;
};

// Every built-in model, in the order of --help.
std::span<const BuiltinWorkload> BuiltinWorkloads();

// Their names.
std::vector<std::string> BuiltinWorkloadNames();

// The model of that name. InvalidArgument names the nearest valid one.
absl::StatusOr<BuiltinWorkload> FindBuiltinWorkload(absl::string_view name);

// A workload of that model with the model's own default sizes; a user's options go on top.
//   resnet18: 224 pixels, 1000 classes;  yolo: 640 pixels, 80 classes, 100 objects.
absl::StatusOr<WorkloadSpec> BuiltinWorkloadSpec(absl::string_view name);

// The names that WorkloadSpec::loss may have.
std::span<const std::string> LossNames();

// Whether a worker could try it, as far as can be told without LibTorch and without reading files:
// known names, sizes that the model takes, a TorchScript file's inputs and a target that its loss
// can use. InvalidArgument names what is wrong and what would be right. Options that a built-in
// model does not use are not looked at.
absl::Status ValidateWorkload(const WorkloadSpec& spec);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_BUILTIN_WORKLOADS_H_
