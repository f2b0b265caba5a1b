#include "autobatch/types/builtin_workloads.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/types/tensor_spec.h"

namespace autobatch {
namespace {

constexpr std::array kWorkloads = {
    BuiltinWorkload{.name = "resnet18",
                    .description = "ResNet-18, images and classes",
                    .parameters = 11'689'512,
                    .image_size = 224,
                    .classes = 1000,
                    .min_image_size = 33},
    BuiltinWorkload{.name = "resnet50",
                    .description = "ResNet-50, images and classes",
                    .parameters = 25'557'032,
                    .image_size = 224,
                    .classes = 1000,
                    .min_image_size = 33},
    BuiltinWorkload{.name = "vit_b_16",
                    .description = "ViT-B/16, images and classes",
                    .parameters = 86'567'656,
                    .image_size = 224,
                    .classes = 1000,
                    .image_multiple = 16,
                    .min_image_size = 16},
    BuiltinWorkload{.name = "gpt2",
                    .description = "GPT-2 small, sequences of tokens",
                    .parameters = 124'439'808,
                    .sequence_length = 1024,
                    .max_sequence_length = 1024},
    BuiltinWorkload{.name = "yolo",
                    .description = "YOLOv8n-style detector, images with objects",
                    .parameters = 3'157'184,
                    .image_size = 640,
                    .classes = 80,
                    .max_objects = 100,
                    .image_multiple = 32,
                    .min_image_size = 64},
};

// Generous bounds that keep every product of sizes far from overflow.
constexpr int64_t kMaxImageSize = 65'536;
constexpr int64_t kMaxClasses = 10'000'000;
constexpr int64_t kMaxObjects = 1'000'000;

absl::Status CheckSize(absl::string_view what, int64_t value, int64_t low, int64_t high,
                       absl::string_view model) {
  if (low <= value && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", value, ": ", model, " takes ",
                                                 FormatCount(low), " to ", FormatCount(high)));
}

absl::Status ValidateImageSize(int64_t size, const BuiltinWorkload& model) {
  AB_RETURN_IF_ERROR(
      CheckSize("image size", size, model.min_image_size, kMaxImageSize, model.name));
  const int64_t below = size - size % model.image_multiple;
  if (below == size) return absl::OkStatus();
  const int64_t above = below + model.image_multiple;
  return absl::InvalidArgumentError(
      absl::StrCat("image size ", size, ": ", model.name, " takes multiples of ",
                   model.image_multiple, ", such as ", below < model.min_image_size ? above : below,
                   below < model.min_image_size ? "" : absl::StrCat(" or ", above)));
}

absl::Status ValidateBuiltin(const WorkloadSpec& spec) {
  AB_ASSIGN_OR_RETURN(const BuiltinWorkload model, FindBuiltinWorkload(spec.name));
  if (model.image_size > 0) AB_RETURN_IF_ERROR(ValidateImageSize(spec.image_size, model));
  if (model.sequence_length > 0) {
    // The loss is of the next token: a sequence of one has none.
    AB_RETURN_IF_ERROR(CheckSize("sequence length", spec.sequence_length, 2,
                                 model.max_sequence_length, model.name));
  }
  if (model.classes > 0) {
    AB_RETURN_IF_ERROR(CheckSize("classes", spec.classes, 1, kMaxClasses, model.name));
  }
  if (model.max_objects > 0) {
    AB_RETURN_IF_ERROR(CheckSize("max objects", spec.max_objects, 1, kMaxObjects, model.name));
  }
  return absl::OkStatus();
}

absl::Status ValidateLoss(const WorkloadSpec& spec) {
  const std::span<const std::string> losses = LossNames();
  if (std::find(losses.begin(), losses.end(), spec.loss) == losses.end()) {
    return UnknownName("loss", spec.loss, losses);
  }
  if (spec.loss == "mean" || spec.loss == "output") {
    if (!spec.target.has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("loss '", spec.loss, "' uses no target: leave the target out"));
  }
  const bool cross_entropy = spec.loss == "cross_entropy";
  if (!spec.target.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "loss '", spec.loss, "' needs a target, such as ",
        cross_entropy ? "int64::0..1000 for one of 1000 classes" : "float32:10 for ten values"));
  }
  if (absl::Status status = ValidateTensorSpec(*spec.target); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("target: ", status.message()));
  }
  if (IsFloatingPoint(*spec.target) || (cross_entropy && spec.target->dtype == "int64")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("loss '", spec.loss, "' cannot use a target of ", spec.target->dtype, ": ",
                   cross_entropy ? "int64 class numbers or float32 probabilities" : "float32",
                   " would be right"));
}

absl::Status ValidateTorchScript(const WorkloadSpec& spec) {
  if (spec.name.empty()) return absl::InvalidArgumentError("no TorchScript file is named");
  if (spec.inputs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("TorchScript file '", spec.name,
                     "' has no declared inputs: name each, such as float32:3x224x224"));
  }
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (absl::Status status = ValidateTensorSpec(spec.inputs[i]); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i + 1, ": ", status.message()));
    }
  }
  return ValidateLoss(spec);
}

}  // namespace

std::span<const BuiltinWorkload> BuiltinWorkloads() { return kWorkloads; }

std::vector<std::string> BuiltinWorkloadNames() {
  std::vector<std::string> names;
  for (const BuiltinWorkload& model : kWorkloads) names.emplace_back(model.name);
  return names;
}

absl::StatusOr<BuiltinWorkload> FindBuiltinWorkload(absl::string_view name) {
  for (const BuiltinWorkload& model : kWorkloads) {
    if (model.name == name) return model;
  }
  return UnknownName("model", name, BuiltinWorkloadNames());
}

absl::StatusOr<WorkloadSpec> BuiltinWorkloadSpec(absl::string_view name) {
  AB_ASSIGN_OR_RETURN(const BuiltinWorkload model, FindBuiltinWorkload(name));
  WorkloadSpec spec;
  spec.name = std::string(name);
  if (model.image_size > 0) spec.image_size = model.image_size;
  if (model.sequence_length > 0) spec.sequence_length = model.sequence_length;
  if (model.classes > 0) spec.classes = model.classes;
  if (model.max_objects > 0) spec.max_objects = model.max_objects;
  return spec;
}

std::span<const std::string> LossNames() {
  static const auto& names =
      *new std::vector<std::string>{"cross_entropy", "mse", "bce_with_logits", "mean", "output"};
  return names;
}

absl::Status ValidateWorkload(const WorkloadSpec& spec) {
  if (spec.evaluation_batch.value_or(0) < 0) {
    return absl::InvalidArgumentError(absl::StrCat("evaluation batch ", *spec.evaluation_batch,
                                                   ": at least 1, or 0 for no evaluation"));
  }
  switch (spec.kind) {
    case WorkloadKind::kBuiltIn:
      return ValidateBuiltin(spec);
    case WorkloadKind::kTorchScript:
      return ValidateTorchScript(spec);
    case WorkloadKind::kCommand:
      if (spec.command.empty() || spec.command[0].empty()) {
        return absl::InvalidArgumentError("the command is empty: give a program and its arguments");
      }
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError("unknown kind of workload");
}

}  // namespace autobatch
