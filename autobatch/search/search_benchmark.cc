// Our search, doubling + bisection, and the seed estimators, on the same synthetic curves. Prints
// one table; exit status 0 when our bars hold, 1 when not.
//
//   search_benchmark [curves] [first seed]

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "autobatch/search/curve_race.h"

int main(int argc, char** argv) {
  const int curves = argc > 1 ? std::atoi(argv[1]) : 4000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (curves < 1) {
    std::cerr << "usage: search_benchmark [curves >= 1] [first seed]\n";
    return 2;
  }
  const autobatch::RaceResult result = autobatch::RunRace(curves, seed);
  std::cout << result.Table();
  const std::vector<std::string> broken = result.BrokenBars();
  for (const std::string& bar : broken) std::cout << "BAR BROKEN: " << bar << "\n";
  if (broken.empty()) std::cout << "all bars hold\n";
  return broken.empty() ? 0 : 1;
}
