// cuBLAS and cuBLASLt: handles and descriptors. The computing functions are generated stubs.

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstring>

#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/library_memory.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

constexpr size_t kDefaultVersion = 130100;

struct Blas {
  LibraryMemory memory;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

Blas& BlasOf(cublasHandle_t handle) { return *reinterpret_cast<Blas*>(handle); }

// Descriptors are only set, and never asked for what was set.
struct Opaque {};

template <typename Handle>
cublasStatus_t Make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new Opaque);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle>
cublasStatus_t Drop(Handle handle) {
  delete reinterpret_cast<Opaque*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#define CUBLAS SIMCUDA_EXPORT cublasStatus_t

CUBLAS cublasCreate_v2(cublasHandle_t* handle) {
  auto blas = new Blas;
  if (!blas->memory.Take(Node::Get().model().cublas_handle)) {
    delete blas;
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  *handle = reinterpret_cast<cublasHandle_t>(blas);
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasDestroy_v2(cublasHandle_t handle) {
  delete &BlasOf(handle);
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  BlasOf(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = BlasOf(handle).stream;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }

CUBLAS cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  BlasOf(handle).math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = BlasOf(handle).math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  BlasOf(handle).pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = BlasOf(handle).pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

SIMCUDA_EXPORT size_t cublasLtGetVersion() {
  return CublasVersion() == 0 ? kDefaultVersion : CublasVersion();
}

CUBLAS cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = static_cast<int>(cublasLtGetVersion());
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS cublasLtCreate(cublasLtHandle_t* handle) { return Make(handle); }
CUBLAS cublasLtDestroy(cublasLtHandle_t handle) { return Drop(handle); }

CUBLAS cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t,
                                cudaDataType_t) {
  return Make(descriptor);
}
CUBLAS cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) { return Drop(descriptor); }

CUBLAS cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t,
                                  int64_t) {
  return Make(layout);
}
CUBLAS cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return Drop(layout); }

CUBLAS cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return Make(preference);
}
CUBLAS cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Drop(preference);
}

CUBLAS cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                      cublasLtMatmulPreference_t, int wanted,
                                      cublasLtMatmulHeuristicResult_t* results, int* returned) {
  *returned = wanted > 0 ? 1 : 0;
  if (wanted > 0) {
    std::memset(results, 0, sizeof(*results));
    results->state = CUBLAS_STATUS_SUCCESS;
    results->wavesCount = 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}
