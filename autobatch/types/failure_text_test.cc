#include "autobatch/types/failure_text.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

constexpr char kDsaHint[] =
    "\nCUDA kernel errors might be asynchronously reported at some other API call\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n";

struct Case {
  const char* text;
  FailureKind nearly_full;
  FailureKind with_room;
};

constexpr FailureKind kOom = FailureKind::kOutOfMemory;
constexpr FailureKind kSuspected = FailureKind::kSuspectedOutOfMemory;
constexpr FailureKind kHost = FailureKind::kHostOutOfMemory;
constexpr FailureKind kIllegal = FailureKind::kIllegalAccess;
constexpr FailureKind kModel = FailureKind::kModelError;

const Case kCases[] = {
    {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of "
     "which 1.20 GiB is free.",
     kOom, kOom},
    {"torch.OutOfMemoryError: CUDA out of memory.", kOom, kOom},
    {"CUDA error: out of memory", kOom, kOom},
    {"[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: "
     "you "
     "tried to allocate 1000 bytes. Error code 12 (Cannot allocate memory)",
     kHost, kHost},
    {"std::bad_alloc", kHost, kHost},
    {"MemoryError", kHost, kHost},
    {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.", kHost, kHost},
    {"CUDA error: an illegal memory access was encountered", kIllegal, kIllegal},
    {"CUDA error: device-side assert triggered", kIllegal, kIllegal},
    {"CUDA error: misaligned address", kIllegal, kIllegal},
    {"CUDA error: unspecified launch failure", kIllegal, kIllegal},
    {"Unable to determine the device handle: GPU is lost. Reboot the system", kIllegal, kIllegal},
    {"CUDA error: unknown error", kIllegal, kIllegal},
    {"NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus", kIllegal, kIllegal},
    {"Expected canUse32BitIndexMath(input) to be true, but got false.", kIllegal, kIllegal},
    {"CUDA error: invalid configuration argument", kIllegal, kIllegal},
    {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", kSuspected,
     kSuspected},
    {"cuDNN error: CUDNN_STATUS_ALLOC_FAILED", kSuspected, kSuspected},
    {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", kHost, kHost},
    {"CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", kSuspected,
     kModel},
    {"cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", kSuspected, kModel},
    {"FIND was unable to find an engine to execute this computation", kSuspected, kModel},
    {"CUDA error: device not ready", kSuspected, kModel},
    {"INTERNAL ASSERT FAILED at \"CUDACachingAllocator.cpp\":1", kSuspected, kModel},
    {"Expected more than 1 value per channel when training, got input size [1, 512, 1, 1]", kModel,
     kModel},
    {"mat1 and mat2 shapes cannot be multiplied (4x512 and 1000x10)", kModel, kModel},
    {"", kModel, kModel},
};

TEST(ClassifyErrorTextTest, EachKnownText_IsItsKind) {
  for (const Case& c : kCases) {
    EXPECT_EQ(ClassifyErrorText(c.text, true), c.nearly_full) << c.text;
    EXPECT_EQ(ClassifyErrorText(c.text, false), c.with_room) << c.text;
  }
}

TEST(ClassifyErrorTextTest, HintBelowEveryCudaError_IsNoEvidence) {
  EXPECT_EQ(ClassifyErrorText(std::string("CUDA error: invalid argument") + kDsaHint, true),
            kModel);
}

TEST(FindErrorInTextTest, OrdinaryLog_FindsNothing) {
  EXPECT_EQ(FindErrorInText("epoch 1: loss 0.3\nepoch 2: loss 0.2", true), std::nullopt);
}

TEST(RequestedBytesInTextTest, BothForms_AreRead) {
  EXPECT_EQ(RequestedBytesInText("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"),
            int64_t{2} << 30);
  EXPECT_EQ(RequestedBytesInText("Tried to allocate 512.00 MiB (GPU 0; ...)"), int64_t{512} << 20);
  EXPECT_EQ(RequestedBytesInText("you tried to allocate 4096 bytes. Error code 12"), 4096);
  EXPECT_EQ(RequestedBytesInText("Tried to allocate more than 1EB memory."), std::nullopt);
  EXPECT_EQ(RequestedBytesInText("Tried to allocate "), std::nullopt);
  EXPECT_EQ(RequestedBytesInText("no such thing"), std::nullopt);
}

TEST(ErrorSummaryTest, StackTrace_IsLeftOut) {
  EXPECT_EQ(ErrorSummary("\nshape mismatch\nException raised from mm at x.cpp:1\nframe #0: ..."),
            "shape mismatch");
  EXPECT_EQ(
      ErrorSummary("The following operation failed in the TorchScript interpreter.\n"
                   "Traceback of TorchScript (most recent call last):\n"
                   "  File \"m.py\", line 3, in forward\n    return y\n           ~ <--- HERE\n"
                   "RuntimeError: bad size\n"),
      "RuntimeError: bad size");
  EXPECT_EQ(ErrorSummary(std::string(1000, 'x')).size(), 400u);
  EXPECT_EQ(ErrorSummary(" \n"), "an error without a text");
}

}  // namespace
}  // namespace autobatch
