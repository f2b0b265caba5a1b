#ifndef AUTOBATCH_WORKER_MODELS_GPT2_H_
#define AUTOBATCH_WORKER_MODELS_GPT2_H_

#include <cstdint>
#include <memory>

#include "autobatch/worker/workload.h"

namespace autobatch {

// GPT-2 small (Radford et al. 2019): 12 layers, 768 wide, 12 heads, 50257 tokens, 1024 positions,
// the head tied to the embedding, dropout 0.1, trained on full sequences of `sequence_length`
// tokens by next-token cross entropy. Its activation is computed from elementary operations, as in
// the common implementation, whose intermediates are a good part of the memory.
std::unique_ptr<Workload> MakeGpt2(int64_t sequence_length);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_GPT2_H_
