#ifndef AUTOBATCH_REPORT_WORDS_H_
#define AUTOBATCH_REPORT_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/device.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

// What table and page say, in the same words. All text from outside is already escaped.
namespace autobatch {

// The batch that a device answers with, run or estimated; absent when it failed.
std::optional<int64_t> AnswerBatch(const DeviceResult& result);

// "confirmed", "estimated, not run", "largest confirmed so far (time limit)", "no safe batch".
std::string StatusWords(const DeviceResult& result);

// What kept a larger batch away: "memory: 100 was over the budget"; empty when nothing is known.
std::string BoundWords(const DeviceResult& result);

// "out of memory in backward of step 2".
std::string FailureWords(const Failure& failure);

// "NVIDIA A100", "NVIDIA A100 (simulated)".
std::string DeviceName(const Device& device);

// "python (pid 7) 1.20 GiB"; the bytes are left out where the driver does not tell.
std::string ProcessWords(const ProcessUse& process);

// Bytes that other processes hold; absent when any of them is not told.
std::optional<int64_t> OthersBytes(const Device& device);

// "resnet18", "python train.py --batch {batch}"; a command as one would type it in a shell.
std::string WorkloadWords(const WorkloadSpec& workload);

// "PyTorch 2.13.0+cu130 in /opt/venv/…/torch", or that it is not known.
std::string CommandFramework(const HostFacts& host);

// How the trials of a command were observed: "watched from outside: ..."; empty for our own worker.
std::string MethodWords(const DeviceResult& result);

// The node's answer in one or two sentences, with the device that set it and why.
std::vector<std::string> NodeSentences(const NodeReport& report);

// FormatBytes, or "unknown".
std::string BytesOr(const std::optional<int64_t>& bytes, const std::string& absent = "unknown");

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_WORDS_H_
