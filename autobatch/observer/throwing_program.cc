// Throws an out-of-memory error and another one, and catches both itself (WAY own), or has the
// library catch the first or the second (python, other):
//   throwing_program LIBRARY WAY

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace {

struct OutOfMemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void RunOut() { throw OutOfMemoryError("out of memory"); }
void Fail() { throw std::runtime_error("something else"); }

bool Caught(void (*function)()) {
  try {
    function();
  } catch (const std::exception&) {
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 8;
  const auto by_python = reinterpret_cast<int (*)(void (*)())>(dlsym(library, "CaughtByPython"));
  if (by_python == nullptr) return 7;
  const std::string way = argv[2];
  const bool first = way == "python" ? by_python(RunOut) == 1 : Caught(RunOut);
  const bool second = way == "other" ? by_python(Fail) == 1 : Caught(Fail);
  return first && second ? 0 : 1;
}
