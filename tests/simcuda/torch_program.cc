// A LibTorch program as anybody might write one; it knows nothing of simulated devices. Its
// arguments are things to do, one after the other; each prints a JSON line.
//
//   devices            the devices that the runtime shows
//   memory             free and total of device 0, once its context exists
//   fill               256 MiB tensors until memory is out
//   hold=BYTES         a tensor, kept until the input ends
//   train=BATCH        three steps of a small residual network; a second number says the device
//   count              how many of some numbers are not zero
//   answers            what a program asks of tensors: all, any, equal, unique
//   copies             numbers sent to the device and read back
//   operations         a few kernels that are found by other ways than a plain launch

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace {

torch::TensorOptions OnDevice(int device) {
  return torch::TensorOptions().device(torch::kCUDA, static_cast<c10::DeviceIndex>(device));
}

void PrintDevices() {
  for (int i = 0; i < static_cast<int>(torch::cuda::device_count()); ++i) {
    const cudaDeviceProp& p = *at::cuda::getDeviceProperties(i);
    std::printf("{\"name\": \"%s\", \"total\": %zu, \"capability\": \"%d.%d\"}\n", p.name,
                p.totalGlobalMem, p.major, p.minor);
  }
}

void PrintMemory() {
  torch::empty(1, OnDevice(0));
  const auto [free, total] = c10::cuda::CUDACachingAllocator::get()->getMemoryInfo(0);
  std::printf("{\"free\": %zu, \"total\": %zu}\n", free, total);
}

void Fill() {
  std::vector<torch::Tensor> held;
  try {
    while (true) held.push_back(torch::empty(256 << 20, OnDevice(0).dtype(torch::kUInt8)));
  } catch (const c10::OutOfMemoryError& error) {
    std::string first = error.what_without_backtrace();
    std::printf("{\"tensors\": %zu, \"error\": \"%s\"}\n", held.size(),
                first.substr(0, first.find('\n')).c_str());
  }
  held.clear();
  c10::cuda::CUDACachingAllocator::emptyCache();
}

void Hold(int64_t bytes) {
  const torch::Tensor held = torch::empty(bytes, OnDevice(0).dtype(torch::kUInt8));
  std::printf("{\"held\": %zu}\n", held.nbytes());
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}

struct NetImpl : torch::nn::Module {
  NetImpl() {
    using namespace torch::nn;
    stem = register_module("stem", Conv2d(Conv2dOptions(3, 32, 3).padding(1).bias(false)));
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i);
      convolutions.push_back(register_module(
          "conv" + number, Conv2d(Conv2dOptions(32, 32, 3).padding(1).bias(false))));
      norms.push_back(register_module("norm" + number, BatchNorm2d(32)));
    }
    head = register_module("head", Linear(32, 10));
  }

  torch::Tensor forward(torch::Tensor x) {
    x = stem(x);
    for (size_t i = 0; i < convolutions.size(); ++i) {
      x = torch::relu(x + norms[i](convolutions[i](x)));
    }
    return head(x.mean({2, 3}));
  }

  torch::nn::Conv2d stem{nullptr};
  std::vector<torch::nn::Conv2d> convolutions;
  std::vector<torch::nn::BatchNorm2d> norms;
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Net);

void Train(int64_t batch, int device) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  constexpr int kSteps = 3;
  const auto start = std::chrono::steady_clock::now();
  Net net;
  net->to(torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device)));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  double loss_value = 0;
  for (int step = 0; step < kSteps; ++step) {
    const torch::Tensor x = torch::randn({batch, 3, 64, 64}, OnDevice(device));
    const torch::Tensor y = torch::zeros(batch, OnDevice(device).dtype(torch::kLong));
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(net(x), y);
    loss.backward();
    optimizer.step();
    loss_value = loss.item<double>();
  }
  const auto statistics = allocator::get()->getDeviceStats(static_cast<c10::DeviceIndex>(device));
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  std::printf("{\"reserved\": %ld, \"allocated\": %ld, \"loss\": %f, \"ms\": %f}\n",
              statistics.reserved_bytes[kAll].peak, statistics.allocated_bytes[kAll].peak,
              loss_value, passed.count());
}

void Copies() {
  const torch::Tensor sent = torch::tensor({3, 1, 4}, torch::kLong).to(OnDevice(0).device());
  const torch::Tensor filled = torch::full({3}, 5, OnDevice(0).dtype(torch::kInt));
  const torch::Tensor back = sent.cpu();
  const int five = filled[2].item<int>();
  const auto added = (sent + 1).sum().item<int64_t>();
  const torch::Tensor computed = (sent * 2).cpu();
  std::printf("{\"back\": [%ld, %ld, %ld], \"filled\": %d, \"added\": %ld, \"computed\": %ld}\n",
              back[0].item<int64_t>(), back[1].item<int64_t>(), back[2].item<int64_t>(), five,
              added, computed[0].item<int64_t>());
}

void Count() {
  const torch::Tensor x = torch::ones(1000, OnDevice(0));
  std::printf("{\"count\": %ld}\n", x.nonzero().size(0));
}

void Answers() {
  const torch::Tensor x = torch::ones(1000, OnDevice(0).dtype(torch::kLong));
  const auto [values, positions, counts] =
      torch::_unique2(x, /*sorted=*/true, /*return_inverse=*/false, /*return_counts=*/true);
  std::printf("{\"all\": %d, \"any\": %d, \"equal\": %d, \"unique\": [%ld, %ld]}\n",
              (x > 0).all().item<bool>(), (x < 0).any().item<bool>(), torch::equal(x, x.clone()),
              std::get<0>(torch::_unique2(x)).size(0), counts.size(0));
}

void Operations() {
  torch::Tensor x = torch::randn({64, 64}, OnDevice(0));
  torch::special::bessel_j0(x);  // compiled at run time
  torch::linalg_svd(x);          // cuSOLVER
  torch::fft::fft(x);            // cuFFT
  x.nonzero();                   // a count read back
  x.sort();
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(64, 32).num_layers(2).bidirectional(true));
  lstm->to(x.device());
  std::get<0>(lstm(x.reshape({8, 8, 64}))).sum().backward();
  const torch::Tensor q = torch::randn({2, 4, 128, 64}, OnDevice(0).dtype(torch::kHalf));
  at::scaled_dot_product_attention(q, q, q);
  torch::cuda::synchronize();
  std::printf("{\"operations\": true}\n");
}

void Do(const std::string& what) {
  const size_t equals = what.find('=');
  const std::string name = what.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : what.substr(equals + 1);
  if (name == "devices") PrintDevices();
  if (name == "memory") PrintMemory();
  if (name == "fill") Fill();
  if (name == "hold") Hold(std::stoll(value));
  if (name == "train") {
    const size_t comma = value.find(',');
    Train(std::stoll(value), comma == std::string::npos ? 0 : std::stoi(value.substr(comma + 1)));
  }
  if (name == "count") Count();
  if (name == "answers") Answers();
  if (name == "copies") Copies();
  if (name == "operations") Operations();
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(0);
  try {
    for (int i = 1; i < argc; ++i) Do(argv[i]);
  } catch (const std::exception& error) {
    std::string first = error.what();
    std::printf("{\"failed\": \"%s\"}\n", first.substr(0, first.find('\n')).c_str());
    return 1;
  }
  return 0;
}
