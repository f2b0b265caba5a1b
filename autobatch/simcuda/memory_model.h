#ifndef AUTOBATCH_SIMCUDA_MEMORY_MODEL_H_
#define AUTOBATCH_SIMCUDA_MEMORY_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "autobatch/simcuda/card.h"
#include "autobatch/simcuda/conv_workspace.h"

namespace autobatch::simcuda {

// What the driver and NVIDIA's libraries take beside the framework's own allocations. All in bytes;
// doubles because a calibration measures them. Every number is a named part that a calibration file
// can replace.
struct MemoryModel {
  // A bare context grows with the number of multiprocessors: 107 MiB on 34 (RTX 4060 Ti), 426 on
  // 142 (RTX 6000 Ada), 555 on 188 (RTX PRO 6000) lie on this line. A card's own reading comes
  // first.
  double context_base = 8.0 * (1 << 20);
  double context_per_multiprocessor = 2.91 * (1 << 20);
  // Drivers before CUDA 11.7 load every kernel of the program. An RTX 3090 was read at 1687 MiB
  // with torch 1.8.2 for CUDA 11.1 and a tensor (pytorch/pytorch#55277): less the tensor's 2 and
  // the context, below and above, this is left. Later versions took more, not less: 172 MiB between
  // 1.8.1 and 1.11 (#74536). A count of the code in torch 1.13.1, cuBLAS 11.10.3 and cuDNN 8.5.0
  // alone, each module in steps of 64 KiB, is 1088.
  double eager_kernels = 1359.0 * (1 << 20);
  // Their bare context was larger too: 320 MiB on the 80 multiprocessors of a Titan V
  // (pytorch/pytorch#28394), 79 above the line.
  double eager_context = 79.0 * (1 << 20);
  double lazy_since_version = 11070;
  // Later ones load a kernel when it is first used. No public figure: an average cubin's size.
  double lazy_kernel = 128.0 * (1 << 10);
  // First handle of a device and thread; the workspace that torch hands to cuBLAS is torch's own.
  double cublas_handle = 8.0 * (1 << 20);
  double cudnn_handle = 2.0 * (1 << 20);
  // A communicator: its own buffers, and those for every further rank of the node.
  double nccl_base = 64.0 * (1 << 20);
  double nccl_per_peer = 32.0 * (1 << 20);
  ConvWorkspaceModel convolution;

  // Of a context without any tensor under a driver of that CUDA version (13000 is 13.0).
  uint64_t Context(const Card& card, int driver_version) const;
  // Of a kernel when it is first launched under that driver.
  uint64_t Kernel(int driver_version) const;
  uint64_t Communicator(int ranks) const;
};

struct CalibratedModel {
  MemoryModel model;
  // What is wrong with the calibration, for people; empty where nothing is.
  std::string error;
};

// `calibration`: lines `part = number`, parts as above and `convolution.float32_forward` and so on;
// `#` begins a comment. What it does not name keeps its value.
CalibratedModel Calibrate(std::string_view calibration);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_MEMORY_MODEL_H_
