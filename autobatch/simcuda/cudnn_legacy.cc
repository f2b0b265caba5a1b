// cuDNN: handles, versions, and the interface older than the backend's: descriptors, batch norm,
// CTC, dropout. Functions that only compute are generated stubs.

#include <cudnn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "autobatch/simcuda/cudnn_tensor.h"
#include "autobatch/simcuda/library_memory.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {

size_t BytesOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    default:
      return 4;
  }
}

}  // namespace autobatch::simcuda

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

struct Dnn {
  LibraryMemory memory;
  cudaStream_t stream = nullptr;
};

Dnn& DnnOf(cudnnHandle_t handle) { return *reinterpret_cast<Dnn*>(handle); }

// Room for any descriptor that is set and never read back.
struct Opaque {};

template <typename Made, typename Handle>
cudnnStatus_t Make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new Made);
  return CUDNN_STATUS_SUCCESS;
}

template <typename Made, typename Handle>
cudnnStatus_t Drop(Handle handle) {
  delete reinterpret_cast<Made*>(handle);
  return CUDNN_STATUS_SUCCESS;
}

void SetDimensions(TensorShape& shape, int rank, const int* dimensions, const int* strides) {
  shape.rank = std::clamp(rank, 0, TensorShape::kMost);
  std::copy_n(dimensions, shape.rank, shape.dimensions);
  if (strides != nullptr) std::copy_n(strides, shape.rank, shape.strides);
}

// One algorithm, which needs no workspace.
template <typename Performance>
cudnnStatus_t OneAlgorithm(int wanted, int* returned, Performance* results) {
  *returned = wanted > 0 ? 1 : 0;
  if (wanted > 0) {
    std::memset(results, 0, sizeof(*results));
    results->status = CUDNN_STATUS_SUCCESS;
    results->time = 1;
    results->algo = static_cast<decltype(results->algo)>(1);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Nothing(size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

// Probabilities are of time, batch and labels.
cudnnStatus_t CtcWorkspace(cudnnTensorDescriptor_t probabilities, size_t* bytes) {
  *bytes = sizeof(float);
  for (int i = 0; i < 3; ++i) {
    *bytes *= static_cast<size_t>(ShapeOf(probabilities).dimensions[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

#define CUDNN SIMCUDA_EXPORT cudnnStatus_t

CUDNN cudnnCreate(cudnnHandle_t* handle) {
  auto* const dnn = new Dnn;
  if (!dnn->memory.Take(Node::Get().model().cudnn_handle)) {
    delete dnn;
    return CUDNN_STATUS_INTERNAL_ERROR;
  }
  *handle = reinterpret_cast<cudnnHandle_t>(dnn);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnDestroy(cudnnHandle_t handle) {
  delete &DnnOf(handle);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  DnnOf(handle).stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = DnnOf(handle).stream;
  return CUDNN_STATUS_SUCCESS;
}

SIMCUDA_EXPORT size_t cudnnGetVersion() {
  return CudnnVersion() == 0 ? CUDNN_VERSION : CudnnVersion();
}

SIMCUDA_EXPORT size_t cudnnGetCudartVersion() { return static_cast<size_t>(RuntimeVersion()); }
SIMCUDA_EXPORT size_t cudnnGetMaxDeviceVersion() { return 1200; }

CUDNN cudnnGetProperty(libraryPropertyType property, int* value) {
  const int version = static_cast<int>(cudnnGetVersion());
  // 9.1.2 is 90102, 8.9.2 was 8902.
  const int major_unit = version >= 90000 ? 10000 : 1000;
  *value = property == MAJOR_VERSION   ? version / major_unit
           : property == MINOR_VERSION ? version % major_unit / 100
                                       : version % 100;
  return CUDNN_STATUS_SUCCESS;
}

SIMCUDA_EXPORT const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

SIMCUDA_EXPORT void cudnnGetLastErrorString(char* text, size_t length) {
  if (length > 0) std::snprintf(text, length, "simulated cuDNN");
}

#define DESCRIPTOR(name, made)                                                    \
  CUDNN cudnnCreate##name(cudnn##name##_t* handle) { return Make<made>(handle); } \
  CUDNN cudnnDestroy##name(cudnn##name##_t handle) { return Drop<made>(handle); }
DESCRIPTOR(TensorDescriptor, TensorShape)
DESCRIPTOR(FilterDescriptor, TensorShape)
DESCRIPTOR(ConvolutionDescriptor, Opaque)
DESCRIPTOR(ActivationDescriptor, Opaque)
DESCRIPTOR(DropoutDescriptor, Opaque)
DESCRIPTOR(PoolingDescriptor, Opaque)
DESCRIPTOR(CTCLossDescriptor, Opaque)
DESCRIPTOR(SpatialTransformerDescriptor, Opaque)
#undef DESCRIPTOR

CUDNN cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                                 const int* dimensions, const int* strides) {
  ShapeOf(descriptor).type = type;
  SetDimensions(ShapeOf(descriptor), rank, dimensions, strides);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor, int room,
                                 cudnnDataType_t* type, int* rank, int* dimensions, int* strides) {
  const TensorShape& shape = ShapeOf(descriptor);
  *type = shape.type;
  *rank = shape.rank;
  const int count = std::min(room, TensorShape::kMost);
  std::copy_n(shape.dimensions, count, dimensions);
  std::copy_n(shape.strides, count, strides);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                 cudnnTensorFormat_t format, int rank, const int* dimensions) {
  ShapeOf(descriptor).type = type;
  ShapeOf(descriptor).format = format;
  SetDimensions(ShapeOf(descriptor), rank, dimensions, nullptr);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t descriptor, int room,
                                 cudnnDataType_t* type, cudnnTensorFormat_t* format, int* rank,
                                 int* dimensions) {
  const TensorShape& shape = ShapeOf(descriptor);
  *type = shape.type;
  *format = shape.format;
  *rank = shape.rank;
  std::copy_n(shape.dimensions, std::min(room, TensorShape::kMost), dimensions);
  return CUDNN_STATUS_SUCCESS;
}

// No public figure of these: the framework's own kernels serve most batch norms.

CUDNN cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return Nothing(bytes);
}

CUDNN cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t* bytes) {
  return Nothing(bytes);
}

CUDNN cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t,
                                                           cudnnBatchNormOps_t,
                                                           const cudnnActivationDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           size_t* bytes) {
  return Nothing(bytes);
}

CUDNN cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                             const cudnnFilterDescriptor_t,
                                             const cudnnConvolutionDescriptor_t,
                                             const cudnnTensorDescriptor_t, const int wanted,
                                             int* returned,
                                             cudnnConvolutionFwdAlgoPerf_t* results) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                  const cudnnTensorDescriptor_t,
                                                  const cudnnConvolutionDescriptor_t,
                                                  const cudnnTensorDescriptor_t, const int wanted,
                                                  int* returned,
                                                  cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                    const cudnnTensorDescriptor_t,
                                                    const cudnnConvolutionDescriptor_t,
                                                    const cudnnFilterDescriptor_t, const int wanted,
                                                    int* returned,
                                                    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                             const void*, const cudnnFilterDescriptor_t,
                                             const void*, const cudnnConvolutionDescriptor_t,
                                             const cudnnTensorDescriptor_t, void*, const int wanted,
                                             int* returned, cudnnConvolutionFwdAlgoPerf_t* results,
                                             void*, size_t) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    const void*, const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void*,
    const int wanted, int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results, void*, size_t) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    const void*, const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, void*,
    const int wanted, int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results, void*, size_t) {
  return OneAlgorithm(wanted, returned, results);
}

CUDNN cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                              const cudnnFilterDescriptor_t,
                                              const cudnnConvolutionDescriptor_t,
                                              const cudnnTensorDescriptor_t,
                                              cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  return Nothing(bytes);
}

CUDNN cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                   const cudnnTensorDescriptor_t,
                                                   const cudnnConvolutionDescriptor_t,
                                                   const cudnnTensorDescriptor_t,
                                                   cudnnConvolutionBwdDataAlgo_t, size_t* bytes) {
  return Nothing(bytes);
}

CUDNN cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnTensorDescriptor_t,
                                                     const cudnnConvolutionDescriptor_t,
                                                     const cudnnFilterDescriptor_t,
                                                     cudnnConvolutionBwdFilterAlgo_t,
                                                     size_t* bytes) {
  return Nothing(bytes);
}

// A generator's state for every thread that may be resident.
CUDNN cudnnDropoutGetStatesSize(cudnnHandle_t, size_t* bytes) {
  constexpr size_t kStateBytes = 48;
  const Device* const device = Node::Get().Visible(CurrentOrdinal());
  *bytes = device == nullptr
               ? 0
               : kStateBytes * static_cast<size_t>(device->card().multiprocessors) * 2048;
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetCTCLossWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t probabilities,
                                   const cudnnTensorDescriptor_t, const int*, const int*,
                                   const int*, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                                   size_t* bytes) {
  return CtcWorkspace(probabilities, bytes);
}

CUDNN cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                                      const cudnnTensorDescriptor_t probabilities,
                                      const cudnnTensorDescriptor_t, size_t* bytes) {
  return CtcWorkspace(probabilities, bytes);
}
