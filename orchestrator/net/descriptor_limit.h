#ifndef ORCHESTRATOR_NET_DESCRIPTOR_LIMIT_H_
#define ORCHESTRATOR_NET_DESCRIPTOR_LIMIT_H_

#include <cstdint>

namespace autobatch {

// Raises the number of descriptors that this process may open to what the system lets it have (the
// usual 1024 is one agent short of a large cluster), at most `wanted`; never lowers it. Returns the
// number that holds now. Call it early in main.
int64_t RaiseDescriptorLimit(int64_t wanted = 65536);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_DESCRIPTOR_LIMIT_H_
