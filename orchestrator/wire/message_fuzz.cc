// Whatever payload comes under whatever type: no crash, and what was read as a message is written
// and read again as the same one.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string>

#include "orchestrator/wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte is the type.
  const autobatch::Frame frame{
      .type = data[0], .payload = std::string(reinterpret_cast<const char*>(data) + 1, size - 1)};
  const auto message = autobatch::DecodeMessage(frame);
  if (!message.ok()) {
    // The refusal of what was not understood can be said.
    autobatch::Refuse refuse = autobatch::RefusalOf(message.status());
    if (!autobatch::EncodeMessage(refuse).ok()) abort();
    return 0;
  }
  const auto written = autobatch::EncodeMessage(*message);
  if (!written.ok() || written->type != frame.type) abort();
  const auto again = autobatch::DecodeMessage(*written);
  if (!again.ok() || autobatch::EncodeMessage(*again)->payload != written->payload) abort();
  return 0;
}
