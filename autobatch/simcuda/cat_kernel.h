#ifndef AUTOBATCH_SIMCUDA_CAT_KERNEL_H_
#define AUTOBATCH_SIMCUDA_CAT_KERNEL_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace autobatch::simcuda {

// What a kernel copies for one of the tensors that it joins.
struct CatPiece {
  const char* from = nullptr;
  char* to = nullptr;
  uint64_t bytes = 0;
};

// The framework joins contiguous tensors of one dimension (torch.cat) by CatArrayBatchedCopy_…(to,
// where from, shape, dimension, stride), a row of blocks a tensor: ranks that broadcast a list of
// objects send sizes and pickled bytes so joined. Nothing where `kernel`, a mangled name, is
// another one.
std::optional<std::vector<CatPiece>> ReadCat(std::string_view kernel, void** arguments,
                                             uint32_t block_rows);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CAT_KERNEL_H_
