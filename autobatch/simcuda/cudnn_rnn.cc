// cuDNN: recurrent networks, whose sizes and weight layout the framework asks for.

#include <cudnn.h>

#include <cstdint>
#include <optional>

#include "autobatch/simcuda/cudnn_tensor.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

struct Rnn {
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t input = 0;
  size_t hidden = 0;
  // 0: no projection.
  size_t projection = 0;
  size_t layers = 0;

  size_t gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  size_t directions() const { return direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
  size_t output() const { return projection == 0 ? hidden : projection; }
  size_t biases() const {
    return bias == CUDNN_RNN_NO_BIAS ? 0 : bias == CUDNN_RNN_DOUBLE_BIAS ? 2 : 1;
  }
};

struct RnnData {
  size_t steps = 0;
  size_t batch = 0;
};

Rnn& RnnOf(cudnnRNNDescriptor_t handle) { return *reinterpret_cast<Rnn*>(handle); }
RnnData& DataOf(cudnnRNNDataDescriptor_t handle) { return *reinterpret_cast<RnnData*>(handle); }

// In elements from the start of the weights.
struct Matrix {
  size_t offset;
  size_t rows;
  size_t columns;
};

// The weights lie layer by layer: matrices of the input, of the state, and the projection; all
// biases follow. Calls visit(pseudo layer, number, matrix, is bias); returns all elements.
template <typename Visit>
size_t Layout(const Rnn& rnn, Visit visit) {
  size_t offset = 0;
  const auto put = [&](size_t layer, size_t number, size_t rows, size_t columns, bool bias) {
    visit(layer, number, Matrix{offset, rows, columns}, bias);
    offset += rows * columns;
  };
  const size_t pseudo_layers = rnn.layers * rnn.directions();
  for (size_t layer = 0; layer < pseudo_layers; ++layer) {
    const bool first = layer / rnn.directions() == 0;
    const size_t input = first ? rnn.input : rnn.output() * rnn.directions();
    for (size_t k = 0; k < 2 * rnn.gates(); ++k) {
      put(layer, k, rnn.hidden, k < rnn.gates() ? input : rnn.output(), false);
    }
    if (rnn.projection != 0) {
      put(layer, 2 * rnn.gates(), rnn.projection, rnn.hidden, false);
    }
  }
  for (size_t layer = 0; layer < pseudo_layers; ++layer) {
    for (size_t k = 0; k < rnn.biases() * rnn.gates(); ++k) put(layer, k, rnn.hidden, 1, true);
  }
  return offset;
}

// The framework passes null for the half that it does not ask for.
void Describe(const Rnn& rnn, const std::optional<Matrix>& matrix, const void* weights,
              cudnnTensorDescriptor_t descriptor, void** address) {
  if (descriptor != nullptr) {
    TensorShape& shape = ShapeOf(descriptor);
    shape = {};
    shape.type = rnn.type;
    if (matrix) {
      const int rows = static_cast<int>(matrix->rows);
      const int columns = static_cast<int>(matrix->columns);
      shape = {.type = rnn.type,
               .rank = 3,
               .dimensions = {1, rows, columns},
               .strides = {rows * columns, columns, 1}};
    }
  }
  if (address != nullptr) {
    const uintptr_t start = reinterpret_cast<uintptr_t>(weights);
    *address =
        matrix ? reinterpret_cast<void*>(start + matrix->offset * BytesOf(rnn.type)) : nullptr;
  }
}

}  // namespace

#define CUDNN SIMCUDA_EXPORT cudnnStatus_t

CUDNN cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* handle) {
  *handle = reinterpret_cast<cudnnRNNDescriptor_t>(new Rnn);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t handle) {
  delete &RnnOf(handle);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* handle) {
  *handle = reinterpret_cast<cudnnRNNDataDescriptor_t>(new RnnData);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t handle) {
  delete &DataOf(handle);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t handle, cudnnRNNAlgo_t, cudnnRNNMode_t mode,
                               cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                               cudnnRNNInputMode_t, cudnnDataType_t type, cudnnDataType_t,
                               cudnnMathType_t, int32_t input, int32_t hidden, int32_t projection,
                               int32_t layers, cudnnDropoutDescriptor_t, uint32_t) {
  RnnOf(handle) = {.mode = mode,
                   .bias = bias,
                   .direction = direction,
                   .type = type,
                   .input = static_cast<size_t>(input),
                   .hidden = static_cast<size_t>(hidden),
                   .projection = projection == hidden ? 0 : static_cast<size_t>(projection),
                   .layers = static_cast<size_t>(layers)};
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t handle, cudnnDataType_t,
                                cudnnRNNDataLayout_t, int steps, int batch, int, const int*,
                                void*) {
  DataOf(handle) = {.steps = static_cast<size_t>(steps), .batch = static_cast<size_t>(batch)};
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t handle, size_t* bytes) {
  const Rnn& rnn = RnnOf(handle);
  *bytes = Layout(rnn, [](auto...) {}) * BytesOf(rnn.type);
  return CUDNN_STATUS_SUCCESS;
}

// What training keeps of every step: the gates, the cell and the output.
CUDNN cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t handle, cudnnForwardMode_t mode,
                                cudnnRNNDataDescriptor_t data, size_t* workspace, size_t* reserve) {
  const Rnn& rnn = RnnOf(handle);
  const size_t states =
      DataOf(data).steps * DataOf(data).batch * rnn.hidden * rnn.directions() * BytesOf(rnn.type);
  if (workspace != nullptr) *workspace = states * rnn.gates();
  if (reserve != nullptr) {
    *reserve = mode == CUDNN_FWD_MODE_TRAINING ? states * rnn.layers * (rnn.gates() + 2) : 0;
  }
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t handle, int32_t pseudo_layer,
                              size_t, const void* weights, int32_t number,
                              cudnnTensorDescriptor_t matrix_descriptor, void** matrix_address,
                              cudnnTensorDescriptor_t bias_descriptor, void** bias_address) {
  const Rnn& rnn = RnnOf(handle);
  std::optional<Matrix> matrix;
  std::optional<Matrix> bias;
  Layout(rnn, [&](size_t layer, size_t k, const Matrix& found, bool is_bias) {
    if (layer != static_cast<size_t>(pseudo_layer) || k != static_cast<size_t>(number)) return;
    (is_bias ? bias : matrix) = found;
  });
  Describe(rnn, matrix, weights, matrix_descriptor, matrix_address);
  Describe(rnn, bias, weights, bias_descriptor, bias_address);
  return CUDNN_STATUS_SUCCESS;
}
