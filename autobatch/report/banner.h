#ifndef AUTOBATCH_REPORT_BANNER_H_
#define AUTOBATCH_REPORT_BANNER_H_

#include <string>
#include <vector>

#include "autobatch/types/device.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// What is printed before anything runs: when and where, the versions, and where each device comes
// from. Several lines, the last one ended by a newline; control characters in names are escaped.
//
//   autobatch 0.1.0 on node7, 2026-11-30T15:38:00+00:00
//     LibTorch 2.11.0, CUDA 13.0, NVIDIA driver 580.65.06, NCCL 2.28.9
//     CUDA_VISIBLE_DEVICES=2,0
//     workload resnet18
//     cuda:0  NVIDIA A100-SXM4-80GB  physical 2  GPU-5a…  78.50 of 79.15 GiB free
//
// A version that is absent is "none" (the driver: "no NVIDIA driver"), never 0. `warnings` are
// those of the visible-device list: an entry that cut it short, a verdict of the driver that
// differs.
std::string Banner(const HostFacts& host, const WorkloadSpec& workload,
                   const std::vector<Device>& devices, const std::vector<std::string>& warnings);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_BANNER_H_
