#ifndef AUTOBATCH_TYPES_WORKLOAD_H_
#define AUTOBATCH_TYPES_WORKLOAD_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autobatch {

enum class WorkloadKind { kBuiltIn, kTorchScript, kCommand };
BOOST_DESCRIBE_ENUM(WorkloadKind, kBuiltIn, kTorchScript, kCommand)

// Numbers of the forward and backward pass. amp: autocast; fp16 also scales the loss.
enum class Precision { kFp32, kAmpFp16, kAmpBf16 };
BOOST_DESCRIBE_ENUM(Precision, kFp32, kAmpFp16, kAmpBf16)

// State per parameter, fp32: sgd 0, momentum 4, adam and adamw 8 bytes.
enum class OptimizerKind { kSgd, kMomentum, kAdam, kAdamw };
BOOST_DESCRIBE_ENUM(OptimizerKind, kSgd, kMomentum, kAdam, kAdamw)

// What zero_grad leaves behind: nothing (set_to_none) or tensors of zeros.
enum class ZeroGrad { kNone, kZero };
BOOST_DESCRIBE_ENUM(ZeroGrad, kNone, kZero)

// One declared input or target of a TorchScript workload, without the batch dimension.
struct TensorSpec {
  // "float32", "float16", "bfloat16", "int64", "int32", "bool".
  std::string dtype = "float32";
  // Dimensions after the batch: {3, 224, 224}; empty for one scalar a sample.
  std::vector<int64_t> shape;
  // Integers are drawn from [low, high).
  int64_t low = 0;
  int64_t high = 2;
};
BOOST_DESCRIBE_STRUCT(TensorSpec, (), (dtype, shape, low, high))

// What one training step is. Sizes are those of the worst case that training will see.
struct WorkloadSpec {
  WorkloadKind kind = WorkloadKind::kBuiltIn;
  // A built-in model's name, or the path of a TorchScript file.
  std::string name = "resnet18";
  // The command and its arguments, with {batch} and other placeholders (kCommand).
  std::vector<std::string> command;

  Precision precision = Precision::kFp32;
  OptimizerKind optimizer = OptimizerKind::kMomentum;
  ZeroGrad zero_grad = ZeroGrad::kNone;
  // Keep an exponential moving average of the parameters (4 bytes a parameter).
  bool ema = false;
  bool channels_last = false;
  bool cudnn_benchmark = false;

  // Pixels a side.
  int64_t image_size = 224;
  // Tokens a sample.
  int64_t sequence_length = 1024;
  int64_t classes = 1000;
  // Objects a sample in the detector's worst image.
  int64_t max_objects = 100;

  // TorchScript only.
  std::vector<TensorSpec> inputs;
  std::optional<TensorSpec> target;
  // "cross_entropy", "mse", "bce_with_logits", "mean" of the output, "output" is the loss itself.
  std::string loss = "cross_entropy";

  // Samples in the evaluation step: absent, the trial's batch; 0, no evaluation.
  std::optional<int64_t> evaluation_batch;
};
BOOST_DESCRIBE_STRUCT(WorkloadSpec, (),
                      (kind, name, command, precision, optimizer, zero_grad, ema, channels_last,
                       cudnn_benchmark, image_size, sequence_length, classes, max_objects, inputs,
                       target, loss, evaluation_batch))

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_WORKLOAD_H_
