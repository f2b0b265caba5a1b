// Stands for a CUDA runtime of a version that cannot be simulated: all that is asked of the real
// one.

extern "C" __attribute__((visibility("default"))) int cudaRuntimeGetVersion(int* version) {
  *version = 11080;
  return 0;
}
