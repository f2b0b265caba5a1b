// CUDA runtime: capturing streams into graphs, and launching those.

#include <cuda_runtime_api.h>

#include <atomic>
#include <utility>

#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

// Names that CUDA 12 and 13 give to different functions are defined below without the macros' help.
#undef cudaStreamGetCaptureInfo
#undef cudaGraphNodeGetDependencies
#undef cudaGraphInstantiate

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

struct Graph {
  uint64_t launches = 0;
};

Graph& GraphOf(cudaGraph_t handle) { return *reinterpret_cast<Graph*>(handle); }

cudaError_t CaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                        unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                        const void** edges, size_t* count) {
  const Stream& captured = StreamOf(stream);
  const bool active = captured.capturing;
  *status = active ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (id != nullptr) *id = active ? captured.capture_id : 0;
  if (graph != nullptr) *graph = nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return Report(cudaSuccess);
}

}  // namespace

SIMCUDA_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  static std::atomic<unsigned long long> next_id = 1;
  if (IsDefaultStream(stream)) return Report(cudaErrorStreamCaptureUnsupported);
  Stream& captured = StreamOf(stream);
  captured.capture_id = next_id++;
  captured.launches_before = LaunchCount();
  captured.capturing = true;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Stream& captured = StreamOf(stream);
  if (!captured.capturing.exchange(false)) return Report(cudaErrorIllegalState);
  *graph = reinterpret_cast<cudaGraph_t>(
      new Graph{.launches = LaunchCount() - captured.launches_before});
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                 cudaStreamCaptureStatus* status) {
  *status =
      StreamOf(stream).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return Report(cudaSuccess);
}

// The plain name has 3 arguments in CUDA 12 and 7 in CUDA 13; _v2 has 6 and _v3 has 7.
SIMCUDA_EXPORT cudaError_t CaptureInfoPlain(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                            unsigned long long* id, cudaGraph_t* graph,
                                            const cudaGraphNode_t** nodes, const void** edges,
                                            size_t* count) __asm__("cudaStreamGetCaptureInfo");
cudaError_t CaptureInfoPlain(cudaStream_t stream, cudaStreamCaptureStatus* status,
                             unsigned long long* id, cudaGraph_t* graph,
                             const cudaGraphNode_t** nodes, const void** edges, size_t* count) {
  if (RuntimeVersion() < 13000) {
    return CaptureInfo(stream, status, id, nullptr, nullptr, nullptr, nullptr);
  }
  return CaptureInfo(stream, status, id, graph, nodes, edges, count);
}

SIMCUDA_EXPORT cudaError_t CaptureInfoV2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                         unsigned long long* id, cudaGraph_t* graph,
                                         const cudaGraphNode_t** nodes,
                                         size_t* count) __asm__("cudaStreamGetCaptureInfo_v2");
cudaError_t CaptureInfoV2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                          unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                          size_t* count) {
  return CaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}

SIMCUDA_EXPORT cudaError_t CaptureInfoV3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                         unsigned long long* id, cudaGraph_t* graph,
                                         const cudaGraphNode_t** nodes, const void** edges,
                                         size_t* count) __asm__("cudaStreamGetCaptureInfo_v3");
cudaError_t CaptureInfoV3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                          unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                          const void** edges, size_t* count) {
  return CaptureInfo(stream, status, id, graph, nodes, edges, count);
}

SIMCUDA_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(*mode, current);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable,
                                                         cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(GraphOf(graph)));
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

SIMCUDA_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  LibraryLaunch();
  return Report(Broken());
}

SIMCUDA_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete &GraphOf(graph);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return Report(cudaSuccess);
}

// Only whether there are any nodes is ever asked.
SIMCUDA_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = GraphOf(graph).launches;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) {
  return Report(cudaSuccess);
}

// 3 arguments in CUDA 12 and, with the edges in front of the count, 4 in CUDA 13 and in _v2.
SIMCUDA_EXPORT cudaError_t DependenciesPlain(cudaGraphNode_t, cudaGraphNode_t*, void* edges,
                                             size_t* count) __asm__("cudaGraphNodeGetDependencies");
cudaError_t DependenciesPlain(cudaGraphNode_t, cudaGraphNode_t*, void* edges, size_t* count) {
  *(RuntimeVersion() < 13000 ? static_cast<size_t*>(edges) : count) = 0;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t DependenciesV2(cudaGraphNode_t, cudaGraphNode_t*, void* edges,
                                          size_t* count) __asm__("cudaGraphNodeGetDependencies_v2");
cudaError_t DependenciesV2(cudaGraphNode_t, cudaGraphNode_t*, void*, size_t* count) {
  *count = 0;
  return Report(cudaSuccess);
}
