#include "autobatch/worker/models/yolo.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "autobatch/worker/models/detection_loss.h"
#include "autobatch/worker/models/module_workload.h"

namespace autobatch {
namespace {

namespace nn = torch::nn;

// Convolution, batch norm and in-place SiLU.
class Conv : public nn::Module {
 public:
  Conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1)
      : convolution_(register_module("convolution", nn::Conv2d(nn::Conv2dOptions(in, out, kernel)
                                                                   .stride(stride)
                                                                   .padding(kernel / 2)
                                                                   .bias(false)))),
        norm_(register_module(
            "norm", nn::BatchNorm2d(nn::BatchNorm2dOptions(out).eps(1e-3).momentum(0.03)))) {}

  at::Tensor Forward(const at::Tensor& x) {
    at::Tensor y = convolution_(x);
    y = norm_(y);
    return at::silu_(y);
  }

 private:
  nn::Conv2d convolution_;
  nn::BatchNorm2d norm_;
};

// Half of the channels pass through `depth` pairs of 3x3 convolutions one after the other; all
// stages are concatenated.
class CrossStage : public nn::Module {
 public:
  CrossStage(int64_t in, int64_t out, int depth, bool shortcut)
      : shortcut_(shortcut),
        split_(register_module("split", std::make_shared<Conv>(in, out, 1))),
        join_(register_module("join", std::make_shared<Conv>((2 + depth) * out / 2, out, 1))) {
    for (int i = 0; i < 2 * depth; ++i) {
      inner_.push_back(register_module("inner" + std::to_string(i),
                                       std::make_shared<Conv>(out / 2, out / 2, 3)));
    }
  }

  at::Tensor Forward(const at::Tensor& x) {
    std::vector<at::Tensor> stages = split_->Forward(x).chunk(2, 1);
    for (size_t i = 0; i < inner_.size(); i += 2) {
      at::Tensor y = inner_[i]->Forward(stages.back());
      y = inner_[i + 1]->Forward(y);
      stages.push_back(shortcut_ ? stages.back() + y : y);
    }
    return join_->Forward(at::cat(stages, 1));
  }

 private:
  bool shortcut_;
  std::shared_ptr<Conv> split_;
  std::shared_ptr<Conv> join_;
  std::vector<std::shared_ptr<Conv>> inner_;
};

// Pooling over 5, 9 and 13 cells.
class PyramidPool : public nn::Module {
 public:
  explicit PyramidPool(int64_t channels)
      : in_(register_module("in", std::make_shared<Conv>(channels, channels / 2, 1))),
        out_(register_module("out", std::make_shared<Conv>(2 * channels, channels, 1))) {}

  at::Tensor Forward(const at::Tensor& x) {
    std::vector<at::Tensor> stages = {in_->Forward(x)};
    for (int i = 0; i < 3; ++i) stages.push_back(at::max_pool2d(stages.back(), 5, 1, 2));
    return out_->Forward(at::cat(stages, 1));
  }

 private:
  std::shared_ptr<Conv> in_;
  std::shared_ptr<Conv> out_;
};

// Box distances and class scores of one stride.
class Head : public nn::Module {
 public:
  // `prior`: the probability of a class that a new head gives to a cell.
  Head(int64_t in, int64_t box_width, int64_t class_width, int64_t classes, double prior)
      : box_(Branch("box", in, box_width)),
        box_out_(register_module("box_out",
                                 nn::Conv2d(nn::Conv2dOptions(box_width, 4 * kDistanceBins, 1)))),
        class_(Branch("class", in, class_width)),
        class_out_(
            register_module("class_out", nn::Conv2d(nn::Conv2dOptions(class_width, classes, 1)))) {
    box_out_->bias.detach().fill_(1.0);
    class_out_->bias.detach().fill_(std::log(prior));
  }

  at::Tensor Forward(const at::Tensor& x) {
    const at::Tensor box = box_out_(box_[1]->Forward(box_[0]->Forward(x)));
    const at::Tensor score = class_out_(class_[1]->Forward(class_[0]->Forward(x)));
    return at::cat({box, score}, 1);
  }

 private:
  std::vector<std::shared_ptr<Conv>> Branch(const std::string& name, int64_t in, int64_t width) {
    return {register_module(name + "0", std::make_shared<Conv>(in, width, 3)),
            register_module(name + "1", std::make_shared<Conv>(width, width, 3))};
  }

  std::vector<std::shared_ptr<Conv>> box_;
  nn::Conv2d box_out_;
  std::vector<std::shared_ptr<Conv>> class_;
  nn::Conv2d class_out_;
};

const std::vector<int64_t>& Strides() {
  static const auto& strides = *new std::vector<int64_t>{8, 16, 32};
  return strides;
}

at::Tensor Doubled(const at::Tensor& x) {
  return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
}

class Detector : public nn::Module {
 public:
  Detector(int64_t image_size, int64_t classes) {
    const std::vector<int64_t> channels = {64, 128, 256};
    const int64_t class_width = std::max(channels[0], std::min<int64_t>(classes, 100));
    for (size_t i = 0; i < channels.size(); ++i) {
      // About five objects an image.
      const double cells = std::pow(static_cast<double>(image_size) / Strides()[i], 2);
      const double prior = 5.0 / static_cast<double>(classes) / cells;
      heads_.push_back(
          register_module("head" + std::to_string(i),
                          std::make_shared<Head>(channels[i], 64, class_width, classes, prior)));
    }
  }

  // One map a stride.
  std::vector<at::Tensor> Forward(const at::Tensor& images) {
    at::Tensor x = stem_->Forward(images);
    x = stage1_->Forward(down1_->Forward(x));
    const at::Tensor eighth = stage2_->Forward(down2_->Forward(x));
    const at::Tensor sixteenth = stage3_->Forward(down3_->Forward(eighth));
    x = stage4_->Forward(down4_->Forward(sixteenth));
    const at::Tensor deep = pool_->Forward(x);

    const at::Tensor middle = up3_->Forward(at::cat({Doubled(deep), sixteenth}, 1));
    const at::Tensor fine = up2_->Forward(at::cat({Doubled(middle), eighth}, 1));
    x = path2_->Forward(fine);
    const at::Tensor medium = out3_->Forward(at::cat({x, middle}, 1));
    x = path3_->Forward(medium);
    const at::Tensor coarse = out4_->Forward(at::cat({x, deep}, 1));
    return {heads_[0]->Forward(fine), heads_[1]->Forward(medium), heads_[2]->Forward(coarse)};
  }

 private:
  std::shared_ptr<Conv> Halving(const char* name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<Conv>(in, out, 3, 2));
  }
  std::shared_ptr<CrossStage> Stage(const char* name, int64_t in, int64_t out, int depth,
                                    bool shortcut) {
    return register_module(name, std::make_shared<CrossStage>(in, out, depth, shortcut));
  }

  std::shared_ptr<Conv> stem_ = Halving("stem", 3, 16);
  std::shared_ptr<Conv> down1_ = Halving("down1", 16, 32);
  std::shared_ptr<CrossStage> stage1_ = Stage("stage1", 32, 32, 1, true);
  std::shared_ptr<Conv> down2_ = Halving("down2", 32, 64);
  std::shared_ptr<CrossStage> stage2_ = Stage("stage2", 64, 64, 2, true);
  std::shared_ptr<Conv> down3_ = Halving("down3", 64, 128);
  std::shared_ptr<CrossStage> stage3_ = Stage("stage3", 128, 128, 2, true);
  std::shared_ptr<Conv> down4_ = Halving("down4", 128, 256);
  std::shared_ptr<CrossStage> stage4_ = Stage("stage4", 256, 256, 1, true);
  std::shared_ptr<PyramidPool> pool_ = register_module("pool", std::make_shared<PyramidPool>(256));

  std::shared_ptr<CrossStage> up3_ = Stage("up3", 256 + 128, 128, 1, false);
  std::shared_ptr<CrossStage> up2_ = Stage("up2", 128 + 64, 64, 1, false);
  std::shared_ptr<Conv> path2_ = Halving("path2", 64, 64);
  std::shared_ptr<CrossStage> out3_ = Stage("out3", 64 + 128, 128, 1, false);
  std::shared_ptr<Conv> path3_ = Halving("path3", 128, 128);
  std::shared_ptr<CrossStage> out4_ = Stage("out4", 128 + 256, 256, 1, false);
  std::vector<std::shared_ptr<Head>> heads_;
};

class Yolo final : public ModuleWorkload {
 public:
  Yolo(std::shared_ptr<Detector> net, int64_t image_size, int64_t classes, int64_t max_objects)
      : ModuleWorkload(net),
        net_(std::move(net)),
        image_size_(image_size),
        classes_(classes),
        max_objects_(max_objects) {}

  // Boxes of a twentieth to half of the image a side.
  Batch MakeBatch(int64_t samples, c10::Device device) override {
    const auto options = at::TensorOptions().device(device);
    const at::Tensor centre = at::rand({samples, max_objects_, 2}, options);
    const at::Tensor half = at::rand({samples, max_objects_, 2}, options) * 0.225 + 0.025;
    const at::Tensor boxes = at::cat({centre - half, centre + half}, -1).clamp_(0, 1) * image_size_;
    const at::Tensor labels =
        at::randint(classes_, {samples, max_objects_}, options.dtype(at::kLong));
    return {{RandomImages(samples, image_size_, device)}, {boxes, labels}};
  }

  std::vector<at::Tensor> Forward(const Batch& batch) override {
    return net_->Forward(batch.inputs[0]);
  }

  at::Tensor Loss(const std::vector<at::Tensor>& outputs, const Batch& batch) override {
    return DetectionLoss(outputs, Strides(), {batch.targets[0], batch.targets[1]});
  }

 private:
  std::shared_ptr<Detector> net_;
  int64_t image_size_;
  int64_t classes_;
  int64_t max_objects_;
};

}  // namespace

std::unique_ptr<Workload> MakeYolo(int64_t image_size, int64_t classes, int64_t max_objects) {
  return std::make_unique<Yolo>(std::make_shared<Detector>(image_size, classes), image_size,
                                classes, max_objects);
}

}  // namespace autobatch
