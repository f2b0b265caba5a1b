#ifndef TESTS_BENCHMARKS_AWAIT_GO_H_
#define TESTS_BENCHMARKS_AWAIT_GO_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace autobatch {

// Says that the program has started and waits for a byte of its input: what starting costs is not
// measured.
inline void AwaitGo() {
  std::printf("ready\n");
  std::fflush(stdout);
  char go = 0;
  if (read(STDIN_FILENO, &go, 1) != 1) std::_Exit(1);
}

}  // namespace autobatch

#endif  // TESTS_BENCHMARKS_AWAIT_GO_H_
