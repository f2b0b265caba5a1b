#ifndef AUTOBATCH_SIMCUDA_MIG_H_
#define AUTOBATCH_SIMCUDA_MIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "autobatch/simcuda/card.h"

namespace autobatch::simcuda {

// "3g.40gb": three of a GPU's compute slices with their share of memory.
struct MigSlice {
  std::string profile;
  // Name, memory and multiprocessors of the instance.
  Card card;
};

struct MigSlices {
  std::vector<MigSlice> slices;
  // What is wrong with the text, for people; empty where nothing is.
  std::string error;
};

// Reads "3g.40gb+2g.20gb" for a GPU of that kind. Which profiles there are, and that they are
// eighths of the memory, is from NVIDIA's MIG user guide, "Supported MIG Profiles".
MigSlices ParseMig(std::string_view text, const Card& card);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_MIG_H_
