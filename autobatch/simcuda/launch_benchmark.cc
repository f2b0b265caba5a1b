// What a call costs on a simulated device. A framework's own way to a kernel launch takes 3 to 10
// us, so that a launch of some 10 ns leaves its time as it is.

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "autobatch/simcuda/kernels.h"

namespace autobatch::simcuda {
namespace {

const bool kHasDevice = [] {
  unsetenv("AUTOBATCH_SIM_FAULTS");
  unsetenv("CUDA_VISIBLE_DEVICES");
  return setenv("AUTOBATCH_SIM_DEVICES", "a100-80", /*replace=*/1) == 0;
}();

__attribute__((noinline)) cudaError_t EmptyLaunch(Kernel* kernel, dim3 grid, dim3 block,
                                                  void** arguments, size_t shared_bytes,
                                                  cudaStream_t stream) {
  benchmark::DoNotOptimize(kernel);
  benchmark::DoNotOptimize(shared_bytes);
  benchmark::DoNotOptimize(stream);
  return cudaSuccess;
}

void LaunchBenchmark(benchmark::State& state, decltype(&EmptyLaunch) launch) {
  Kernel kernel;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        launch(&kernel, dim3{128, 1, 1}, dim3{256, 1, 1}, nullptr, 0, nullptr));
  }
}
BENCHMARK_CAPTURE(LaunchBenchmark, Empty, &EmptyLaunch);
BENCHMARK_CAPTURE(LaunchBenchmark, Simulated, &Launch);

void AllocationBenchmark(benchmark::State& state) {
  for (auto _ : state) {
    void* address = nullptr;
    if (cudaMalloc(&address, 20 << 20) != cudaSuccess) state.SkipWithError("no memory");
    cudaFree(address);
  }
}
BENCHMARK(AllocationBenchmark);

void CopyBenchmark(benchmark::State& state) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  void* device = nullptr;
  void* host = nullptr;
  if (cudaMalloc(&device, bytes) != cudaSuccess || cudaMallocHost(&host, bytes) != cudaSuccess) {
    state.SkipWithError("no memory");
    return;
  }
  for (auto _ : state) {
    cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
    LibraryLaunch();
  }
  cudaFree(device);
  cudaFreeHost(host);
}
BENCHMARK(CopyBenchmark)->Arg(8)->Arg(1 << 20)->Arg(128 << 20);

}  // namespace
}  // namespace autobatch::simcuda
