#include "autobatch/simcuda/stub.h"

#include <cstdio>

#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {

int Stub(const char* name, bool works, bool& called) {
  static const bool trace = Environment("AUTOBATCH_SIM_TRACE") == "1";
  if (trace && !called) std::fprintf(stderr, "simcuda: stub %s\n", name);
  called = true;
  if (Node::Get().visible().empty()) return 1;
  if (works) LibraryLaunch();
  // Every library has the failure of its own status 1 and above; the framework asks the runtime
  // then.
  return Broken() == cudaSuccess ? 0 : 1;
}

}  // namespace autobatch::simcuda
