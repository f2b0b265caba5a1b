#ifndef AUTOBATCH_SIMCUDA_CARD_H_
#define AUTOBATCH_SIMCUDA_CARD_H_

#include <cstdint>
#include <optional>
#include <string>

namespace autobatch::simcuda {

// What CUDA and NVML report of a kind of card. All sizes in bytes.
struct Card {
  // The catalogue's name, of [a-z0-9-].
  std::string id;
  std::string name;
  // cudaDeviceProp::totalGlobalMem, and the spread of it that was read on Linux over drivers and
  // boards.
  uint64_t total = 0;
  uint64_t lowest_total = 0;
  uint64_t highest_total = 0;
  // What NVML and nvidia-smi report: more than CUDA's total.
  uint64_t nvml_total = 0;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  uint64_t l2 = 0;
  // The most shared memory that a block may ask for, and what a multiprocessor has.
  uint64_t shared_per_block = 0;
  uint64_t shared_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  // Of a bare context; absent where nobody's reading is known.
  std::optional<uint64_t> context;

  int compute_capability() const { return 10 * major + minor; }
};

// CUDA cores in a multiprocessor of that architecture.
int CoresPerMultiprocessor(const Card& card);

// Blocks that may reside on a multiprocessor of that architecture.
int BlocksPerMultiprocessor(const Card& card);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CARD_H_
