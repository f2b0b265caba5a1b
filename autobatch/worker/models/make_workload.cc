#include "autobatch/worker/models/make_workload.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/builtin_workloads.h"
#include "autobatch/worker/models/gpt2.h"
#include "autobatch/worker/models/resnet.h"
#include "autobatch/worker/models/torch_script.h"
#include "autobatch/worker/models/vit.h"
#include "autobatch/worker/models/yolo.h"

namespace autobatch {
namespace {

absl::StatusOr<std::unique_ptr<Workload>> MakeBuiltin(const WorkloadSpec& spec) {
  if (spec.name == "resnet18") return MakeResNet18(spec.image_size, spec.classes);
  if (spec.name == "resnet50") return MakeResNet50(spec.image_size, spec.classes);
  if (spec.name == "vit_b_16") return MakeVitB16(spec.image_size, spec.classes);
  if (spec.name == "gpt2") return MakeGpt2(spec.sequence_length);
  if (spec.name == "yolo") return MakeYolo(spec.image_size, spec.classes, spec.max_objects);
  return absl::InternalError(absl::StrCat("no factory for the built-in model ", spec.name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const WorkloadSpec& spec) {
  AB_RETURN_IF_ERROR(ValidateWorkload(spec));
  switch (spec.kind) {
    case WorkloadKind::kBuiltIn:
      return MakeBuiltin(spec);
    case WorkloadKind::kTorchScript:
      return LoadTorchScript(spec);
    case WorkloadKind::kCommand:
      break;
  }
  return absl::InvalidArgumentError(
      "a command is a program of its own, not a model for the worker");
}

}  // namespace autobatch
