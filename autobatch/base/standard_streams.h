#ifndef AUTOBATCH_BASE_STANDARD_STREAMS_H_
#define AUTOBATCH_BASE_STANDARD_STREAMS_H_

namespace autobatch {

// Call first in main. A standard stream that the caller closed (`>&-`) is opened so that its use
// fails, as the C library does for set-user-ID programs: else the next file that is opened would
// take its place, and the output.
void ReserveStandardStreams();

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_STANDARD_STREAMS_H_
