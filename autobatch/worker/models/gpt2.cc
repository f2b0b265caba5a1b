#include "autobatch/worker/models/gpt2.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "autobatch/worker/models/module_workload.h"

namespace autobatch {
namespace {

namespace nn = torch::nn;

constexpr int64_t kLayers = 12;
constexpr int64_t kWidth = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kVocabulary = 50257;
constexpr int64_t kPositions = 1024;
constexpr double kDropout = 0.1;
// A target that the loss skips: the last token has no next one.
constexpr int64_t kIgnored = -100;

at::Tensor Weights(at::IntArrayRef shape) { return at::empty(shape).normal_(0, 0.02); }

nn::LayerNorm Norm() { return nn::LayerNorm(nn::LayerNormOptions({kWidth}).eps(1e-5)); }

// tanh's approximation of GELU, one operation a statement so that each temporary dies where it does
// in the original; kept for backward: the input, tanh, and both factors of the last product.
at::Tensor Gelu(const at::Tensor& x) {
  const at::Tensor half = 0.5 * x;
  at::Tensor inner = at::pow(x, 3.0);
  inner = 0.044715 * inner;
  inner = x + inner;
  inner = std::sqrt(2.0 / std::numbers::pi) * inner;
  inner = at::tanh(inner);
  inner = 1.0 + inner;
  return half * inner;
}

// A linear layer whose weight is (in, out).
class Projection : public nn::Module {
 public:
  Projection(int64_t in, int64_t out)
      : weight_(register_parameter("weight", Weights({in, out}))),
        bias_(register_parameter("bias", at::zeros({out}))) {}

  at::Tensor Forward(const at::Tensor& x) {
    const at::Tensor y = at::addmm(bias_, x.view({-1, x.size(-1)}), weight_);
    return y.view({x.size(0), x.size(1), weight_.size(1)});
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

class Layer : public nn::Module {
 public:
  Layer()
      : attention_norm_(register_module("attention_norm", Norm())),
        attention_in_(Project("attention_in", kWidth, 3 * kWidth)),
        attention_out_(Project("attention_out", kWidth, kWidth)),
        mlp_norm_(register_module("mlp_norm", Norm())),
        mlp_in_(Project("mlp_in", kWidth, 4 * kWidth)),
        mlp_out_(Project("mlp_out", 4 * kWidth, kWidth)) {}

  at::Tensor Forward(const at::Tensor& input) {
    at::Tensor x = attention_norm_(input);
    x = Attend(x);
    x = x + input;
    at::Tensor y = mlp_norm_(x);
    y = mlp_in_->Forward(y);
    y = Gelu(y);
    y = mlp_out_->Forward(y);
    y = at::dropout(y, kDropout, is_training());
    return x + y;
  }

 private:
  std::shared_ptr<Projection> Project(const std::string& name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<Projection>(in, out));
  }

  at::Tensor Attend(const at::Tensor& x) {
    const int64_t batch = x.size(0);
    const int64_t tokens = x.size(1);
    const std::vector<at::Tensor> parts = attention_in_->Forward(x).split(kWidth, 2);
    const auto heads = [&](const at::Tensor& part) {
      return part.view({batch, tokens, kHeads, kWidth / kHeads}).transpose(1, 2);
    };
    at::Tensor out = at::scaled_dot_product_attention(
        heads(parts[0]), heads(parts[1]), heads(parts[2]), /*attn_mask=*/{},
        is_training() ? kDropout : 0.0, /*is_causal=*/true);
    out = out.transpose(1, 2).contiguous().view({batch, tokens, kWidth});
    out = attention_out_->Forward(out);
    return at::dropout(out, kDropout, is_training());
  }

  nn::LayerNorm attention_norm_;
  std::shared_ptr<Projection> attention_in_;
  std::shared_ptr<Projection> attention_out_;
  nn::LayerNorm mlp_norm_;
  std::shared_ptr<Projection> mlp_in_;
  std::shared_ptr<Projection> mlp_out_;
};

class Transformer : public nn::Module {
 public:
  Transformer()
      : tokens_(register_parameter("tokens", Weights({kVocabulary, kWidth}))),
        positions_(register_parameter("positions", Weights({kPositions, kWidth}))),
        norm_(register_module("norm", Norm())) {
    for (int64_t i = 0; i < kLayers; ++i) {
      layers_.push_back(register_module("layer" + std::to_string(i), std::make_shared<Layer>()));
    }
  }

  // Token numbers (batch, length) -> logits (batch, length, vocabulary).
  at::Tensor Forward(const at::Tensor& tokens) {
    const at::Tensor places = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    at::Tensor x = at::embedding(tokens_, tokens);
    x = x + at::embedding(positions_, places);
    x = at::dropout(x, kDropout, is_training());
    for (const auto& layer : layers_) x = layer->Forward(x);
    x = norm_(x);
    return at::linear(x, tokens_);
  }

 private:
  at::Tensor tokens_;
  at::Tensor positions_;
  std::vector<std::shared_ptr<Layer>> layers_;
  nn::LayerNorm norm_;
};

class Gpt2 final : public ModuleWorkload {
 public:
  Gpt2(std::shared_ptr<Transformer> net, int64_t sequence_length)
      : ModuleWorkload(net), net_(std::move(net)), sequence_length_(sequence_length) {}

  Batch MakeBatch(int64_t samples, c10::Device device) override {
    const at::Tensor tokens = at::randint(kVocabulary, {samples, sequence_length_},
                                          at::TensorOptions().dtype(at::kLong).device(device));
    return {{tokens}, {tokens.clone()}};
  }

  std::vector<at::Tensor> Forward(const Batch& batch) override {
    return {net_->Forward(batch.inputs[0])};
  }

  // The labels are shifted, not the logits: the last position's target is one that the loss skips.
  at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch& batch) override {
    const at::Tensor logits = outputs[0].to(at::kFloat);
    at::Tensor next = at::constant_pad_nd(batch.targets[0], {0, 1}, kIgnored);
    next = next.slice(1, 1).contiguous();
    return at::cross_entropy_loss(logits.view({-1, kVocabulary}), next.view(-1), /*weight=*/{},
                                  at::Reduction::Mean, kIgnored);
  }

 private:
  std::shared_ptr<Transformer> net_;
  int64_t sequence_length_;
};

}  // namespace

std::unique_ptr<Workload> MakeGpt2(int64_t sequence_length) {
  return std::make_unique<Gpt2>(std::make_shared<Transformer>(), sequence_length);
}

}  // namespace autobatch
