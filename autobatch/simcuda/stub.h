#ifndef AUTOBATCH_SIMCUDA_STUB_H_
#define AUTOBATCH_SIMCUDA_STUB_H_

namespace autobatch::simcuda {

// What every generated stub does: one that works counts as a launch; it returns success in every
// library's numbering, or a failure once the device is broken. AUTOBATCH_SIM_TRACE=1 names each on
// its first call.
int Stub(const char* name, bool works, bool& called);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_STUB_H_
