#include "autobatch/worker/models/torch_script.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/types/tensor_spec.h"
#include "autobatch/worker/models/channels_last.h"

namespace autobatch {
namespace {

at::ScalarType DtypeOf(const TensorSpec& spec) {
  if (spec.dtype == "float16") return at::kHalf;
  if (spec.dtype == "bfloat16") return at::kBFloat16;
  if (spec.dtype == "int64") return at::kLong;
  if (spec.dtype == "int32") return at::kInt;
  if (spec.dtype == "bool") return at::kBool;
  return at::kFloat;
}

// The first tensor in a value that a module returned.
std::optional<at::Tensor> FirstTensor(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (auto tensor = FirstTensor(element)) return tensor;
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (auto tensor = FirstTensor(element)) return tensor;
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (auto tensor = FirstTensor(entry.value())) return tensor;
    }
  }
  return std::nullopt;
}

std::string ShapeText(const at::Tensor& tensor) {
  return absl::StrCat("(", absl::StrJoin(tensor.sizes(), ", "), ")");
}

// Whether class numbers of shape (batch, ...) go with logits (batch, classes, ...).
bool ClassesAreSecond(const at::Tensor& logits, const at::Tensor& target) {
  return logits.dim() == target.dim() + 1 && logits.dim() >= 2 &&
         logits.size(0) == target.size(0) && logits.sizes().slice(2) == target.sizes().slice(1);
}

at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& target) {
  if (!target.is_floating_point() && !ClassesAreSecond(logits, target) &&
      logits.dim() == target.dim() + 1 &&
      logits.sizes().slice(0, logits.dim() - 1) == target.sizes()) {
    return at::cross_entropy_loss(logits.flatten(0, -2), target.flatten());
  }
  return at::cross_entropy_loss(logits, target);
}

class TorchScript final : public Workload {
 public:
  TorchScript(torch::jit::Module module, const WorkloadSpec& spec)
      : module_(std::move(module)), spec_(spec) {}

  void To(c10::Device device, bool channels_last) override {
    module_.to(device);
    channels_last_ = channels_last;
    if (channels_last) ToChannelsLast(Parameters());
  }

  void Train(bool training) override { module_.train(training); }

  std::vector<at::Tensor> Parameters() override {
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& parameter : module_.parameters()) {
      if (parameter.requires_grad()) parameters.push_back(parameter);
    }
    return parameters;
  }

  Batch MakeBatch(int64_t samples, c10::Device device) override {
    Batch batch;
    for (const TensorSpec& input : spec_.inputs) {
      batch.inputs.push_back(RandomTensor(input, samples, device, /*is_target=*/false));
    }
    if (spec_.target.has_value()) {
      batch.targets.push_back(RandomTensor(*spec_.target, samples, device, /*is_target=*/true));
    }
    return batch;
  }

  std::vector<at::Tensor> Forward(const Batch& batch) override {
    const c10::IValue result = module_.forward({batch.inputs.begin(), batch.inputs.end()});
    std::optional<at::Tensor> output = FirstTensor(result);
    if (!output.has_value()) {
      throw std::runtime_error(
          absl::StrCat("the module returned no tensor but a value of type ", result.tagKind()));
    }
    return {*std::move(output)};
  }

  at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch& batch) override {
    const at::Tensor& output = outputs[0];
    if (spec_.loss == "mean") return output.mean();
    if (spec_.loss == "output") {
      if (output.numel() == 1) return output.squeeze();
      throw std::runtime_error(absl::StrCat("loss 'output' needs one value, the module returned ",
                                            ShapeText(output), ": would 'mean' be right?"));
    }
    const at::Tensor& target = batch.targets[0];
    if (spec_.loss == "cross_entropy") return CrossEntropy(output, target);
    // Broadcasting would compare every sample with every other.
    if (output.sizes() != target.sizes()) {
      throw std::runtime_error(absl::StrCat("loss '", spec_.loss, "': the module returned ",
                                            ShapeText(output), ", the target is ",
                                            ShapeText(target)));
    }
    if (spec_.loss == "mse") return at::mse_loss(output, target);
    return at::binary_cross_entropy_with_logits(output, target);
  }

 private:
  at::Tensor RandomTensor(const TensorSpec& spec, int64_t samples, c10::Device device,
                          bool is_target) const {
    std::vector<int64_t> shape = {samples};
    shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
    const auto options = at::TensorOptions().dtype(DtypeOf(spec)).device(device);
    if (spec.dtype == "bool") return at::randint(0, 2, shape, options);
    if (!IsFloatingPoint(spec)) return at::randint(spec.low, spec.high, shape, options);
    if (is_target) return at::rand(shape, options);
    return RandomNormal(shape, DtypeOf(spec), device, channels_last_);
  }

  torch::jit::Module module_;
  WorkloadSpec spec_;
  bool channels_last_ = false;
};

// A TorchScript archive is a zip file.
absl::Status CheckIsArchive(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat("TorchScript file '", path, "' does not exist"));
  }
  if (kind == std::filesystem::file_type::directory) {
    return absl::InvalidArgumentError(absl::StrCat("TorchScript file '", path, "' is a directory"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("TorchScript file '", path, "' cannot be read"));
  }
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  if (absl::string_view(magic, sizeof(magic)) != absl::string_view("PK\x03\x04", 4)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is not a TorchScript archive: save the model with torch.jit.save"));
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const torch::jit::Module& module, const WorkloadSpec& spec) {
  const auto forward = module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("TorchScript file '", spec.name, "' has no forward method"));
  }
  std::vector<std::string> names;
  size_t required = 0;
  // The first argument is the module itself, whatever its author called it.
  const auto& arguments = forward->function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    names.push_back(arguments[i].name());
    if (!arguments[i].default_value().has_value()) ++required;
  }
  if (required <= spec.inputs.size() && spec.inputs.size() <= names.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("TorchScript file '", spec.name, "': forward takes ", names.size(), " inputs (",
                   absl::StrJoin(names, ", "), "), ", spec.inputs.size(), " declared"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> LoadTorchScript(const WorkloadSpec& spec) {
  if (absl::Status status = CheckIsArchive(spec.name); !status.ok()) return status;
  std::optional<torch::jit::Module> module;
  try {
    module = torch::jit::load(spec.name, at::kCPU);
  } catch (const c10::OutOfMemoryError&) {
    throw;  // The allocator's limit, not the file.
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const c10::Error*>(&e);
    const std::string text = error != nullptr ? error->what_without_backtrace() : e.what();
    if (absl::StrContains(text, "constants.pkl")) {
      // torch.save's archives lack it. LibTorch's own words blame a damaged disk.
      return absl::InvalidArgumentError(
          absl::StrCat("'", spec.name,
                       "' is an archive of torch.save, not TorchScript: save the "
                       "model with torch.jit.save(torch.jit.script(model), FILE)"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "TorchScript file '", spec.name,
        "' does not load: ", std::vector<std::string>(absl::StrSplit(text, '\n')).front()));
  }
  if (absl::Status status = CheckInputs(*module, spec); !status.ok()) return status;
  auto workload = std::make_unique<TorchScript>(*std::move(module), spec);
  if (workload->Parameters().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("TorchScript file '", spec.name,
                     "' has no parameters that need a gradient, so there is nothing to train: was "
                     "it frozen?"));
  }
  workload->Train(true);
  return workload;
}

}  // namespace autobatch
