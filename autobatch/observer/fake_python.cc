// Stands between C++ and Python, as libtorch_python.so does: it catches what is thrown.

extern "C" __attribute__((visibility("default"))) int CaughtByPython(void (*function)()) {
  try {
    function();
  } catch (...) {
    return 1;
  }
  return 0;
}
