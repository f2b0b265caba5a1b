// Replays files of vectors: what the real tools answered, against ours.
//
//   ./bazelw run //tests/vectors:replay -- FILE...
//
// Exit code 0: all agree; 1: a difference; 2: something could not be read, or no file was given.

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/vectors/replay_file.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: replay FILE...\nFILE has one JSON object a line; its form is known by its "
                 "fields. See tests/vectors/README.md.\n";
    return 2;
  }
  // bazel run starts programs in a folder of its own.
  const char* started_in = std::getenv("BUILD_WORKING_DIRECTORY");
  const std::filesystem::path base = started_in != nullptr ? started_in : "";
  autobatch::ReplayCounts counts;
  for (int i = 1; i < argc; ++i) {
    autobatch::ReplayFile((base / argv[i]).string(), std::cout, std::cerr, counts);
  }
  std::cout << counts.passed << " passed, " << counts.failed << " failed" << std::endl;
  if (counts.unreadable > 0) return 2;
  return counts.failed > 0 ? 1 : 0;
}
