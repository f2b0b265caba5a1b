#ifndef ORCHESTRATOR_WIRE_MESSAGE_SAMPLES_H_
#define ORCHESTRATOR_WIRE_MESSAGE_SAMPLES_H_

#include <vector>

#include "orchestrator/wire/messages.h"

namespace autobatch {

// One valid message of each kind, every field of it set: for tests.
std::vector<Message> SampleMessages();

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_MESSAGE_SAMPLES_H_
