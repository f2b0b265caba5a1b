// An error of PyTorch's for want of memory that Python gets to see: a script that catches it goes
// on with something else than the batch that it was asked for. PyTorch's own C++ catches such
// errors too, where it then takes a slower algorithm: those are nobody's business. So what counts
// is who catches it.

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstring>
#include <typeinfo>

#include "autobatch/observer/ledger.h"
#include "autobatch/observer/real_function.h"

namespace autobatch::observer {
namespace {

constinit Real real_begin_catch("__cxa_begin_catch");

bool IsOutOfMemory(const std::type_info* type) {
  return type != nullptr && std::strstr(type->name(), "OutOfMemoryError") != nullptr;
}

// libtorch_python.so, and whatever else stands between C++ and Python.
bool IsPythons(const void* code) {
  Dl_info library;
  if (dladdr(code, &library) == 0 || library.dli_fname == nullptr) return false;
  // All that is installed for Python is in folders of that name.
  const char* folder = std::strrchr(library.dli_fname, '/');
  return std::strstr(folder == nullptr ? library.dli_fname : folder, "python") != nullptr;
}

}  // namespace
}  // namespace autobatch::observer

using autobatch::observer::IsOutOfMemory;
using autobatch::observer::IsPythons;
using autobatch::observer::real_begin_catch;
using autobatch::observer::TheLedger;

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) void* __cxa_begin_catch(void* thrown) noexcept {
  const auto real = real_begin_catch.Get<void* (*)(void*)>();
  void* const caught = real(thrown);
  if (IsOutOfMemory(abi::__cxa_current_exception_type()) &&
      IsPythons(__builtin_return_address(0))) {
    TheLedger().CountPythonError();
  }
  return caught;
}
// NOLINTEND(bugprone-reserved-identifier)
