#ifndef AUTOBATCH_SIMCUDA_NCCL_REDUCE_H_
#define AUTOBATCH_SIMCUDA_NCCL_REDUCE_H_

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace autobatch::simcuda {

// Bytes of an element; 0: no such type.
size_t BytesOf(ncclDataType_t type);

// `bytes` of one rank joined to what `into` holds of those before it. Empty stands for zeros, on
// either side. Values of eight-bit floating point are not worked out: they come to zeros.
void Reduce(ncclRedOp_t operation, ncclDataType_t type, std::vector<char>& into,
            const std::vector<char>& bytes);

// Multiplies every element, and divides it (integers are cut towards zero).
void Scale(ncclDataType_t type, double factor, std::vector<char>& bytes);
void Divide(ncclDataType_t type, int divisor, std::vector<char>& bytes);

// The number at `address`, of that type.
double ReadNumber(ncclDataType_t type, const void* address);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NCCL_REDUCE_H_
