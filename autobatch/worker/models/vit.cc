#include "autobatch/worker/models/vit.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <string>
#include <vector>

#include "autobatch/worker/models/image_classifier.h"

namespace autobatch {
namespace {

namespace nn = torch::nn;

constexpr int64_t kLayers = 12;
constexpr int64_t kWidth = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kMlpWidth = 3072;
constexpr int64_t kPatch = 16;

nn::LayerNorm Norm() { return nn::LayerNorm(nn::LayerNormOptions({kWidth}).eps(1e-6)); }

// Multi-head attention of a sequence to itself, with the copies that PyTorch's own module makes:
// the packed projection is split into contiguous query, key and value.
class Attention : public nn::Module {
 public:
  Attention()
      : in_(register_module("in", nn::Linear(kWidth, 3 * kWidth))),
        out_(register_module("out", nn::Linear(kWidth, kWidth))) {}

  // (batch, tokens, width) -> the same.
  at::Tensor Forward(const at::Tensor& x) {
    const int64_t batch = x.size(0);
    const int64_t tokens = x.size(1);
    at::Tensor packed = in_(x.transpose(0, 1));
    packed =
        packed.unflatten(-1, {3, kWidth}).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous();
    const auto head = [&](int64_t part) {
      return packed[part]
          .view({tokens, batch * kHeads, kWidth / kHeads})
          .transpose(0, 1)
          .view({batch, kHeads, tokens, kWidth / kHeads});
    };
    at::Tensor out = at::scaled_dot_product_attention(head(0), head(1), head(2));
    out = out.permute({2, 0, 1, 3}).contiguous().view({batch * tokens, kWidth});
    out = out_(out);
    return out.view({tokens, batch, kWidth}).transpose(0, 1);
  }

 private:
  nn::Linear in_;
  nn::Linear out_;
};

// The published training uses a dropout of 0, which keeps nothing: it is left out.
class Layer : public nn::Module {
 public:
  Layer()
      : attention_norm_(register_module("attention_norm", Norm())),
        attention_(register_module("attention", std::make_shared<Attention>())),
        mlp_norm_(register_module("mlp_norm", Norm())),
        mlp_in_(register_module("mlp_in", nn::Linear(kWidth, kMlpWidth))),
        mlp_out_(register_module("mlp_out", nn::Linear(kMlpWidth, kWidth))) {}

  at::Tensor Forward(const at::Tensor& input) {
    at::Tensor x = attention_norm_(input);
    x = attention_->Forward(x);
    x = x + input;
    at::Tensor y = mlp_norm_(x);
    y = mlp_in_(y);
    y = at::gelu(y);
    y = mlp_out_(y);
    return x + y;
  }

 private:
  nn::LayerNorm attention_norm_;
  std::shared_ptr<Attention> attention_;
  nn::LayerNorm mlp_norm_;
  nn::Linear mlp_in_;
  nn::Linear mlp_out_;
};

class VisionTransformer : public nn::Module {
 public:
  VisionTransformer(int64_t image_size, int64_t classes)
      : patches_(register_module("patches",
                                 nn::Conv2d(nn::Conv2dOptions(3, kWidth, kPatch).stride(kPatch)))),
        norm_(register_module("norm", Norm())),
        head_(register_module("head", nn::Linear(kWidth, classes))) {
    const int64_t side = image_size / kPatch;
    class_token_ = register_parameter("class_token", at::zeros({1, 1, kWidth}));
    positions_ =
        register_parameter("positions", at::empty({1, side * side + 1, kWidth}).normal_(0, 0.02));
    for (int64_t i = 0; i < kLayers; ++i) {
      layers_.push_back(register_module("layer" + std::to_string(i), std::make_shared<Layer>()));
    }
  }

  at::Tensor Forward(const at::Tensor& images) {
    at::Tensor x = patches_(images);
    x = x.reshape({x.size(0), kWidth, -1}).permute({0, 2, 1});
    // Held until the end, as by the frame of the original's caller.
    const at::Tensor tokens = at::cat({class_token_.expand({x.size(0), -1, -1}), x}, 1);
    x = tokens + positions_;
    for (const auto& layer : layers_) x = layer->Forward(x);
    x = norm_(x);
    return head_(x.select(1, 0));
  }

 private:
  nn::Conv2d patches_;
  at::Tensor class_token_;
  at::Tensor positions_;
  std::vector<std::shared_ptr<Layer>> layers_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

}  // namespace

std::unique_ptr<Workload> MakeVitB16(int64_t image_size, int64_t classes) {
  auto net = std::make_shared<VisionTransformer>(image_size, classes);
  return MakeImageClassifier(
      net, [net](const at::Tensor& images) { return net->Forward(images); }, image_size, classes);
}

}  // namespace autobatch
