// NVRTC: kernels do nothing, so there is nothing to compile.

#include <nvrtc.h>

#include <cstring>

#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

constexpr size_t kCodeBytes = 16;

nvrtcResult NoCode(char* code) {
  std::memset(code, 0, kCodeBytes);
  return NVRTC_SUCCESS;
}

nvrtcResult CodeSize(size_t* bytes) {
  *bytes = kCodeBytes;
  return NVRTC_SUCCESS;
}

}  // namespace

SIMCUDA_EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = RuntimeVersion() / 1000;
  *minor = RuntimeVersion() % 1000 / 10;
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char*, int,
                                              const char* const*, const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(new char);
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete reinterpret_cast<char*>(*program);
  *program = nullptr;
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) {
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram, const char*) {
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram, const char*, const char** lowered) {
  *lowered = "simcuda_kernel";
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram, size_t* bytes) { return CodeSize(bytes); }
SIMCUDA_EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram, char* code) { return NoCode(code); }
SIMCUDA_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* bytes) {
  return CodeSize(bytes);
}
SIMCUDA_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* code) { return NoCode(code); }

SIMCUDA_EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  *log = '\0';
  return NVRTC_SUCCESS;
}

SIMCUDA_EXPORT const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_INTERNAL_ERROR";
}
