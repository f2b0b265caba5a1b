#ifndef AUTOBATCH_SIMCUDA_CUDNN_TENSOR_H_
#define AUTOBATCH_SIMCUDA_CUDNN_TENSOR_H_

#include <cudnn.h>

#include <cstddef>

namespace autobatch::simcuda {

// Behind cuDNN's descriptors of tensors and filters.
struct TensorShape {
  static constexpr int kMost = 8;

  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int rank = 0;
  int dimensions[kMost] = {};
  int strides[kMost] = {};
};

inline TensorShape& ShapeOf(cudnnTensorDescriptor_t handle) {
  return *reinterpret_cast<TensorShape*>(handle);
}

inline TensorShape& ShapeOf(cudnnFilterDescriptor_t handle) {
  return *reinterpret_cast<TensorShape*>(handle);
}

// Of one element.
size_t BytesOf(cudnnDataType_t type);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CUDNN_TENSOR_H_
