#include "autobatch/worker/models/resnet.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <vector>

#include "autobatch/worker/models/image_classifier.h"

namespace autobatch {
namespace {

namespace nn = torch::nn;

// The values are left as LibTorch initializes them: memory does not depend on them, and a second
// initialization would double the time to start.
nn::Conv2d Convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct Layout {
  // Blocks in each of the four stages.
  std::array<int, 4> blocks;
  // 1x1, 3x3, 1x1 with four times the channels, instead of two 3x3.
  bool bottleneck;
};

// Every statement below frees what Python's would: a nested expression would keep each temporary
// until its end.
class Block : public nn::Module {
 public:
  Block(int64_t in, int64_t width, int64_t stride, bool bottleneck) {
    const int64_t out = bottleneck ? 4 * width : width;
    if (bottleneck) {
      Add(Convolution(in, width, 1, 1), width);
      Add(Convolution(width, width, 3, stride), width);
      Add(Convolution(width, out, 1, 1), out);
    } else {
      Add(Convolution(in, width, 3, stride), width);
      Add(Convolution(width, width, 3, 1), width);
    }
    if (stride != 1 || in != out) {
      shortcut_ = register_module("shortcut", Convolution(in, out, 1, stride));
      shortcut_norm_ = register_module("shortcut_norm", nn::BatchNorm2d(out));
    }
  }

  at::Tensor Forward(const at::Tensor& x) {
    at::Tensor out = x;
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      out = convolutions_[i](out);
      out = norms_[i](out);
      if (i + 1 < convolutions_.size()) out.relu_();
    }
    at::Tensor identity = x;
    if (shortcut_) {
      identity = shortcut_(identity);
      identity = shortcut_norm_(identity);
    }
    out += identity;
    return out.relu_();
  }

 private:
  void Add(nn::Conv2d convolution, int64_t channels) {
    const std::string i = std::to_string(convolutions_.size());
    convolutions_.push_back(register_module("convolution" + i, convolution));
    norms_.push_back(register_module("norm" + i, nn::BatchNorm2d(channels)));
  }

  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::BatchNorm2d> norms_;
  nn::Conv2d shortcut_{nullptr};
  nn::BatchNorm2d shortcut_norm_{nullptr};
};

class ResNet : public nn::Module {
 public:
  ResNet(const Layout& layout, int64_t classes)
      : stem_(register_module(
            "stem", nn::Conv2d(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)))),
        stem_norm_(register_module("stem_norm", nn::BatchNorm2d(64))) {
    int64_t channels = 64;
    for (size_t stage = 0; stage < layout.blocks.size(); ++stage) {
      const int64_t width = int64_t{64} << stage;
      for (int i = 0; i < layout.blocks[stage]; ++i) {
        const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        blocks_.push_back(
            register_module("block" + std::to_string(blocks_.size()),
                            std::make_shared<Block>(channels, width, stride, layout.bottleneck)));
        channels = layout.bottleneck ? 4 * width : width;
      }
    }
    head_ = register_module("head", nn::Linear(channels, classes));
  }

  at::Tensor Forward(const at::Tensor& images) {
    at::Tensor x = stem_(images);
    x = stem_norm_(x);
    x.relu_();
    x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& block : blocks_) x = block->Forward(x);
    x = at::adaptive_avg_pool2d(x, {1, 1});
    return head_(x.flatten(1));
  }

 private:
  nn::Conv2d stem_;
  nn::BatchNorm2d stem_norm_;
  std::vector<std::shared_ptr<Block>> blocks_;
  nn::Linear head_{nullptr};
};

std::unique_ptr<Workload> Make(const Layout& layout, int64_t image_size, int64_t classes) {
  auto net = std::make_shared<ResNet>(layout, classes);
  return MakeImageClassifier(
      net, [net](const at::Tensor& images) { return net->Forward(images); }, image_size, classes);
}

}  // namespace

std::unique_ptr<Workload> MakeResNet18(int64_t image_size, int64_t classes) {
  return Make({.blocks = {2, 2, 2, 2}, .bottleneck = false}, image_size, classes);
}

std::unique_ptr<Workload> MakeResNet50(int64_t image_size, int64_t classes) {
  return Make({.blocks = {3, 4, 6, 3}, .bottleneck = true}, image_size, classes);
}

}  // namespace autobatch
