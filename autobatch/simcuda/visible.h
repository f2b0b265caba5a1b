#ifndef AUTOBATCH_SIMCUDA_VISIBLE_H_
#define AUTOBATCH_SIMCUDA_VISIBLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autobatch::simcuda {

// The names under which CUDA_VISIBLE_DEVICES may select a GPU.
struct SelectableGpu {
  // "GPU-…"
  std::string uuid;
  // "MIG-…" of its instances; a GPU in MIG mode has some.
  std::vector<std::string> instances;
};

struct SelectedDevice {
  // Position in the list given.
  size_t gpu = 0;
  // Position in its instances, where a MIG instance is meant.
  std::optional<size_t> instance;

  bool operator==(const SelectedDevice&) const = default;
};

// What a CUDA process sees, in CUDA's order. `value` is CUDA_VISIBLE_DEVICES, absent where it is
// unset. The list ends at the first entry that selects nothing; a device selected twice leaves
// none; numbers and identifiers do not mix. A process sees at most one MIG instance, and whole
// GPUs only where it sees none.
std::vector<SelectedDevice> SelectVisible(std::optional<std::string_view> value,
                                          const std::vector<SelectableGpu>& gpus);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_VISIBLE_H_
